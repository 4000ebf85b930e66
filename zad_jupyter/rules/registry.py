"""The open table of rules: a sequence of immutable generations.

Looking up is lock-free and remembered. Every change makes a new generation and is told to the subscribers. Whoever
needs one consistent state (a gradient, from start to end) takes `snapshot()`.
"""
from __future__ import annotations

import threading
import warnings
from abc import get_cache_token
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .draft import Draft, Translation
from .places import Owner, being_imported, owner_of, owner_of_file
from .rule import Answer, Change, Rule
from .selection import Generation, Keywords, Types
from .targets import Handle

Operation = Callable[[Draft], None]
Subscriber = Callable[[Change], None]


class Transaction:
    """Changes that wait for the end of their owner's execution."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.operations: list[Operation] = []
        self.view: Draft | None = None       # what all that waits would give, as far as it was asked for
        self.translation: Translation | None = None     # for the outermost: what became of the objects that rules name
        self.edited: list[Any] = []          # functions that were changed in place
        self.replaced: list[tuple[Any, Any]] = []       # those that could not be: the old and the new one


class Registry:
    """All the rules there are.

    >>> registry = Registry()
    >>> registry.select(len, (list,)).outcome
    'none'
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._local = threading.local()
        self._current = Generation(self, 0, {}, {}, {})
        self._subscribers: list[Subscriber] = []
        self._counts: Counter[str] = Counter()
        self._serial = 0

    # ------------------------------------------------------------------------------------------------- asking

    @property
    def generation(self) -> int:
        """The number of the current generation: it goes up with every change."""
        return self._current.number

    def snapshot(self) -> Generation:
        """The current generation, which nothing changes any more; it has its own `select`."""
        return self._current

    def select(self, f: Any, types: Types, keywords: Keywords = ()) -> Answer:
        """Which rule does a call of f with arguments of these classes get?

        Args:
            f: any callable.
            types: the classes of the positional arguments.
            keywords: a (name, class) pair for each keyword argument.

        Returns:
            An `Answer`. An ambiguity raises nothing: the answer says so.
        """
        # The same lines as in Generation.select, for the price of a call.
        now = self._current
        try:
            entry = now._entries[id(f)]
            if entry.ref() is f and get_cache_token() == entry.token:
                return entry.named[keywords][types] if keywords else entry.answers[types]
        except KeyError:
            pass
        return now._select(f, types, keywords)

    def rules(self, f: Any = None) -> list[Rule]:
        """Every rule, or those for f: shadowed and switched off ones included, in the order of execution.

        Within a transaction, as they will be at its end.
        """
        view = self._view()
        if f is None:
            tables = list(view.tables.values())
        else:
            handle = view.find(f)
            if handle is None and view is self._current:
                found = self._current.table(f)              # follows a redefined function
                tables = [found] if found is not None else []
            else:
                tables = [view.tables[handle]] if handle is not None else []
        found_rules = [rule for table in tables for rule in table.rules()
                       if rule.target is not None or rule.handle.home is not None]
        return sorted(found_rules, key=lambda rule: rule.serial)

    def canonical(self, f: Any) -> Any:
        """The function whose table f shares; f itself if it shares none."""
        handle = self._current.find(f)
        return f if handle is None or handle.get() is None else handle.get()

    def _view(self) -> Generation | Draft:
        stack = self._stack()
        if not stack:
            return self._current
        draft = stack[0].view
        if draft is None or draft.base is not self._current:
            draft = stack[0].view = Draft(self, self._current)
            for transaction in stack:
                for operation in transaction.operations:
                    operation(draft)
        return draft

    # ------------------------------------------------------------------------------------------------ changing

    def add(self, rule: Rule) -> Rule:
        """Put a rule in force, in place of the one with its signature that its owner had before."""
        target = rule.target         # held here, for the rule itself holds it weakly
        self._do(lambda draft: draft.add(rule, target))
        return rule

    def remove(self, rule: Rule) -> None:
        """Take a rule out; the one that it shadowed comes back."""
        self._do(lambda draft: draft.remove(rule))

    def switch(self, rule: Rule, on: bool) -> None:
        """Switch a rule on or off, for this session."""
        self._do(lambda draft: draft.switch(rule, on))

    def alias(self, f: Any, canonical: Any) -> None:
        """Let f and `canonical` share one table, as operator.matmul and np.matmul do."""
        self._do(lambda draft: draft.alias(f, canonical))

    def attach(self, rule: Rule, f: Any) -> None:
        """Move a rule whose function was redefined elsewhere to the function f."""
        self._do(lambda draft: draft.attach(rule, f))

    def handle(self, f: Any) -> Handle:
        """The handle to make a rule for f with."""
        return self._view().find(f) or Handle(f)

    def next_serial(self) -> int:
        """A number that is greater than every one before."""
        with self._lock:
            self._serial += 1
            return self._serial

    def follow(self, handle: Handle, f: Any) -> None:
        """f is the successor of the handle's function: hand over its rules, and say so."""
        self._commit([lambda draft: draft.follow(handle, f)])

    def detach(self, handle: Handle, f: Any) -> None:
        """f has the name of the handle's function but was written elsewhere: the rules stay behind; say so."""
        def leave(draft: Draft) -> None:
            rules = [r for r in draft.tables[handle].rules() if not r.status.startswith("detached")] \
                if handle in draft.tables else []
            for rule in rules:
                where = owner_of_code(f)
                rule.status = f"detached: {handle.name} was redefined in {where}"
                draft.reasons.append(f"{handle.name} was redefined in {where}; the rule of {rule.owner} is detached "
                                     "(registry.attach(rule, f) attaches it)")
        self._commit([leave])

    def _do(self, operation: Operation) -> None:
        transaction = self._transaction()
        if transaction is not None:
            transaction.operations.append(operation)
            view = self._stack()[0].view
            if view is not None:
                operation(view)
        else:
            self._commit([operation])

    def _commit(self, operations: list[Operation], reason: str | None = None,
                translation: Translation | None = None) -> Change | None:
        with self._lock:
            draft = Draft(self, self._current, translation)
            for operation in operations:
                operation(draft)
            self._current, change = draft.finish(reason)
            if change is not None:
                self._counts["changes"] += 1
            subscribers = list(self._subscribers)
        if change is not None:                   # outside of the lock: a subscriber may select, and may wait
            for callback in subscribers:
                try:
                    callback(change)
                except Exception as error:
                    warnings.warn(f"a subscriber of the rule registry failed: {error!r}", RuntimeWarning, stacklevel=2)
        return change

    @contextmanager
    def transaction(self, owner: Owner | str, reason: str | None = None) -> Iterator[Transaction]:
        """Execute an owner (a cell, a file): its rules are swapped in whole at the end, as one change.

        Rules that the owner had and that are not defined again are removed. On an exception nothing has changed.
        A transaction inside another is part of it.

        Args:
            owner: whose rules these are.
            reason: what the change is to say.

        Yields:
            The transaction. Who patches functions and classes in place sets its `translation`, and its `edited`.
        """
        whose = Owner("named", owner, owner) if isinstance(owner, str) else owner
        transaction = Transaction(whose)
        stack = self._stack()
        stack.append(transaction)
        try:
            yield transaction
        finally:
            stack.remove(transaction)
            if stack:
                stack[0].view = None
        transaction.operations.append(lambda draft: draft.sweep(whose))
        if stack:
            stack[-1].operations.extend(transaction.operations)
        else:
            operations = [lambda draft: draft.replace(transaction.replaced), *transaction.operations,
                          lambda draft: draft.edited(transaction.edited)]
            self._commit(operations, reason, transaction.translation)

    def mark(self) -> int:
        """A mark of now, for `sweep`."""
        return self._serial

    def sweep(self, owner: Owner, since: int) -> None:
        """Remove the owner's rules that were not defined again since the mark.

        For owners whose definitions count at once (an ordinary cell): mark before, sweep when it has succeeded.
        """
        self._do(lambda draft: draft.sweep(owner, since))

    def owner_for(self, frame: FrameType | None) -> Owner:
        """Whose rule a definition in `frame` is: the transaction's owner, except in a module that is being imported."""
        transaction = self._transaction()
        if transaction is not None and not being_imported(frame):
            return transaction.owner
        return owner_of(frame)

    def _stack(self) -> list[Transaction]:
        try:
            stack: list[Transaction] = self._local.stack
        except AttributeError:
            stack = self._local.stack = []
        return stack

    def _transaction(self) -> Transaction | None:
        stack = self._stack()
        return stack[-1] if stack else None

    # --------------------------------------------------------------------------------------------- being watched

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Have `callback(change)` called after each change; returns the function that ends it."""
        with self._lock:
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)
        return unsubscribe

    on_change = subscribe

    def count(self, name: str, n: int = 1) -> None:
        """Count something, such as "compilations"."""
        with self._lock:
            self._counts[name] += n

    def statistics(self) -> dict[str, int]:
        """What was counted so far, with the number of rules and functions there are now."""
        current = self._current
        with self._lock:
            return {"generation": current.number, "functions": len(current.tables),
                    "rules": sum(len(g) for t in current.tables.values() for g in t.groups.values()),
                    "changes": 0, "selections": 0, "compilations": 0, "drops": 0, **self._counts}


def owner_of_code(f: Any) -> Owner:
    """The cell or file that a function was written in."""
    return owner_of_file(getattr(getattr(f, "__code__", None), "co_filename", None))


registry = Registry()
