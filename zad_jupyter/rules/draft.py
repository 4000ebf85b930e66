"""One step from a generation to the next.

A `Draft` copies what it changes of a generation, keeps account of what is added and removed, and ends in a new
generation and the `Change` that says what is different. Equal rules replace each other silently: that is no change.
Handles are moved and rules marked only when the draft is committed, so a draft can be thrown away.
"""
from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

from .places import Owner, owner_of_file
from .returns import same_code
from .rule import Change, Rule
from .selection import Generation, Table, predecessor
from .targets import Handle, identity, is_same, reference

if TYPE_CHECKING:
    from .registry import Registry

Key = tuple[str, Any]


class Translation(Protocol):
    """What became of functions and classes when their modules were executed again and the old ones patched."""

    def of(self, value: Any) -> Any:
        """The object that stands for a new one, or the value itself."""

    def retarget(self, value: Any) -> Any:
        """The value, speaking of the objects that stand for new ones."""


class Draft:
    """The changes to one generation, under way."""

    def __init__(self, registry: Registry, base: Generation, translation: Translation | None = None) -> None:
        self.registry, self.base, self.translation = registry, base, translation
        self.tables, self.index, self.homes = dict(base.tables), dict(base.index), dict(base.homes)
        self.added: list[Rule] = []
        self.removed: list[Rule] = []
        self.fresh: set[Rule] = set()                # defined in this draft, equal ones included
        self.touched: dict[Handle, None] = {}        # whose answers may differ
        self.replaced: dict[Handle, None] = {}       # whose tables are new objects
        self.marks: dict[tuple[Handle, Key], None] = {}     # the groups whose rules' status is to be written anew
        self.commits: list[Callable[[], None]] = []
        self.reasons: list[str] = []

    # ------------------------------------------------------------------------------------------------- targets

    def find(self, f: Any) -> Handle | None:
        known = self.index.get(identity(f))
        return known[1] if known is not None and is_same(known[0](), f) else None

    def handle(self, f: Any, suggested: Handle | None = None) -> Handle:
        """The handle of f: known, inherited from the function it succeeds, or new."""
        found = self.find(f)
        if found is None:
            found = predecessor(self.homes, f)[0]
            if found is not None:
                self.follow(found, f)
        if found is None:
            found = suggested or Handle(f)
            self.tables[found] = Table(found, {})
            self.index[identity(f)] = (reference(f), found)
            if found.home is not None:
                name = found.home.module, found.home.qualname
                self.homes[name] = (*self.homes.get(name, ()), found)
        return found

    def follow(self, handle: Handle, f: Any) -> None:
        """Let f, the successor of the handle's function, have its rules."""
        if handle not in self.tables or self.find(f) is handle:
            return                       # asked by an old generation about rules that are gone, or by two at once
        older = handle.current
        self.index[identity(f)] = (reference(f), handle)
        edited = handle.code is not None and getattr(f, "__code__", None) is not None \
            and not same_code(handle.code, f.__code__)
        # The table is a new object, so that generations from before keep theirs.
        self._replace(handle, dataclasses.replace(self.tables[handle]))
        self.touched[handle] = None
        self.marks.update(dict.fromkeys((handle, key) for key in self.tables[handle].groups))
        rules = self.tables[handle].rules()
        where = owner_of_file(f.__code__.co_filename) if hasattr(f, "__code__") else None
        said = f"{handle.name} was redefined" + (f" in {where}" if where else "")
        owners = ", ".join(dict.fromkeys(str(r.owner) for r in rules))
        if rules:
            said += f"; the rule of {owners} was written for an older {handle.name}" if edited else "; its rules follow"
        self.reasons.append(said)

        def commit() -> None:
            handle.older = [ref for ref in (*handle.older, older) if ref() is not None]
            handle.move(f)
            for rule in rules:
                rule.status, rule.written_for_older = "", rule.written_for_older or edited
        self.commits.append(commit)

    def alias(self, f: Any, canonical: Any) -> None:
        """Let f share the table of `canonical`; rules that f had by itself move there."""
        handle, own = self.handle(canonical), self.find(f)
        if own is handle:
            return
        moved = self.tables[own].rules() if own is not None else []
        if own is not None:
            self._forget(own)
        self.index[identity(f)] = (reference(f), handle)
        table = self.tables[handle]
        self._replace(handle, dataclasses.replace(table, aliases=(*table.aliases, reference(f))))
        self.touched[handle] = None
        for rule in moved:
            self._put(handle, rule)
        self.reasons.append(f"one table for {Handle(f).name} and {handle.name}")

    def replace(self, pairs: list[tuple[Any, Any]]) -> None:
        """The second of each pair is what the name of the first means from now on: it has its rules."""
        for old, new in pairs:
            handle = self.find(old)
            if handle is not None and self.find(new) is None and type(new) in (type(old), FunctionType):
                self.follow(handle, new)

    def edited(self, functions: list[Any]) -> None:
        """These functions were changed in place: rules that were not written anew with them are for older ones."""
        for f in functions:
            handle = self.find(f)
            if handle is None:
                continue
            self._replace(handle, dataclasses.replace(self.tables[handle]))     # calls may be bound otherwise now
            self.touched[handle] = None
            rules = [r for r in self.tables[handle].rules() if r not in self.fresh]
            if not rules:
                continue
            owners = ", ".join(dict.fromkeys(str(r.owner) for r in rules))
            self.reasons.append(f"the rule of {owners} was written for an older {handle.name}")
            self.marks.update(dict.fromkeys((handle, key) for key in self.tables[handle].groups))

            def commit(handle: Handle = handle, f: Any = f, rules: list[Rule] = rules) -> None:
                handle.move(f)
                for rule in rules:
                    rule.written_for_older = True
            self.commits.append(commit)

    def attach(self, rule: Rule, f: Any) -> None:
        """Move a rule (a detached one, say) to the function f."""
        self.remove(rule, quietly=True)
        handle = self.handle(f)
        self._put(handle, rule)
        self.touched[handle] = None
        self.reasons.append(f"attached the rule of {rule.owner} to {handle.name}")

        def commit() -> None:
            rule.status, rule.written_for_older = "", False
        self.commits.append(commit)

    # --------------------------------------------------------------------------------------------------- rules

    def add(self, rule: Rule, target: Any) -> None:
        """Add a rule for `target`, in place of the one with its signature that its owner had before."""
        if target is None:
            return
        suggested: Handle | None = rule.handle
        if self.translation is not None:
            found = self.translation.of(target)
            if found is not target:
                target, suggested = found, None
            rule.translate(self.translation.of, self.translation.retarget)
        handle = self.handle(target, suggested)
        rule.handle = handle
        key = (rule.layer, rule.parameters.key)
        table = self.tables[handle]
        before = table.top(key)
        old = next((r for r in table.groups.get(key, ()) if r is rule or replaces(rule, r)), None)
        rule.serial = self.registry.next_serial()
        off = table.off
        if old is not None and old in off:           # a switch lasts for the session
            off = (off - {old}) | {rule}
        group = (*(r for r in table.groups.get(key, ()) if r is not old), rule)
        table = dataclasses.replace(table, groups={**table.groups, key: group}, off=off)
        self._replace(handle, table)
        self.marks[handle, key] = None
        self.fresh.add(rule)
        equal = old is not None and rule.same_as(old)
        if equal and old is not None and old is not rule:
            self.commits.append(functools.partial(old.adopt, rule))     # compiled code holds the old one
        if not equal:
            self.added.append(rule)
            if old is not None and old in self.added:
                self.added.remove(old)
            elif old is not None:
                self.removed.append(old)
        after = table.top(key)
        if (after is not before and not (after is not None and after.same_as(before))) \
                or (old is not None and _overtakes(table, rule, old.serial)):
            self.touched[handle] = None

    def remove(self, rule: Rule, quietly: bool = False) -> None:
        """Take a rule out; the one that it shadowed comes back."""
        key = (rule.layer, rule.parameters.key)
        handle = self._holder(rule, key)
        if handle is None:
            return
        table = self.tables[handle]
        before = table.top(key)
        groups = dict(table.groups)
        groups[key] = tuple(r for r in groups[key] if r is not rule)
        if not groups[key]:
            del groups[key]
        table = dataclasses.replace(table, groups=groups, off=table.off - {rule})
        self._replace(handle, table)
        self.marks[handle, key] = None
        after = table.top(key)
        if after is not before and not (after is not None and after.same_as(before)):
            self.touched[handle] = None
        if quietly:
            return
        if rule in self.added:
            self.added.remove(rule)
        else:
            self.removed.append(rule)

    def switch(self, rule: Rule, on: bool) -> None:
        """Switch a rule on or off."""
        key = (rule.layer, rule.parameters.key)
        handle = self._holder(rule, key)
        if handle is None or (rule not in self.tables[handle].off) == on:
            return
        table = self.tables[handle]
        off = table.off - {rule} if on else table.off | {rule}
        self._replace(handle, dataclasses.replace(table, off=off))
        self.marks[handle, key] = None
        self.touched[handle] = None
        self.reasons.append(f"switched {rule.name} at {rule.place} {'on' if on else 'off'}")

    def sweep(self, owner: Owner, since: int | None = None) -> None:
        """Remove what the owner had, and did not define in this draft (or since that mark)."""
        key = owner.key
        for table in list(self.tables.values()):
            for group in list(table.groups.values()):
                for rule in group:
                    if rule.owner.key == key and rule.owner == owner and rule not in self.fresh \
                            and (since is None or rule.serial <= since):
                        self.remove(rule)

    def _holder(self, rule: Rule, key: Key) -> Handle | None:
        """The handle whose table has the rule; within a draft it need not be the rule's own yet."""
        for handle in (rule.handle, *self.replaced):
            if handle in self.tables and rule in self.tables[handle].groups.get(key, ()):
                return handle
        return None

    def _put(self, handle: Handle, rule: Rule) -> None:
        self.commits.append(lambda: setattr(rule, "handle", handle))
        table, key = self.tables[handle], (rule.layer, rule.parameters.key)
        self.marks[handle, key] = None
        self._replace(handle, dataclasses.replace(table, groups={
            **table.groups, key: (*table.groups.get(key, ()), rule)}))

    def _replace(self, handle: Handle, table: Table) -> None:
        self.tables[handle] = table
        self.replaced[handle] = None

    def _forget(self, handle: Handle) -> None:
        del self.tables[handle]
        self.index = {key: known for key, known in self.index.items() if known[1] is not handle}
        self.homes = {name: left for name, handles in self.homes.items()
                      if (left := tuple(h for h in handles if h is not handle))}

    # --------------------------------------------------------------------------------------------------- the end

    def finish(self, reason: str | None) -> tuple[Generation, Change | None]:
        """The next generation, and what is different; None if nothing is (equal rules have replaced each other)."""
        for commit in self.commits:
            commit()
        if self.translation is not None:     # whoever asked while the module ran has met the new objects
            for handle in self.tables:
                old = self.translation.of(handle.get())
                if old is not handle.get():
                    handle.move(old)
        functions: list[Any] = []
        for handle in self.touched:
            if handle in self.tables:
                functions += [f for f in self.tables[handle].functions() if not any(f is g for g in functions)]
        different = bool(self.touched or self.added or self.removed or self.reasons)
        number = self.base.number + different
        for handle, key in self.marks:
            if handle in self.tables:
                mark(self.tables[handle], key)
        for handle in self.replaced:
            table = self.tables.get(handle)
            if table is not None and not table.groups and not table.aliases:
                self._forget(handle)
        if number % 64 == 0:             # nobody can ask any more about a function without a name that is gone
            for handle, table in list(self.tables.items()):
                if handle.home is None and not table.functions():
                    self._forget(handle)
        generation = Generation(self.registry, number, self.tables, self.index, self.homes,
                                self.base.memories())
        if not different:
            return generation, None
        change = Change(tuple(functions), tuple(self.added), tuple(self.removed), reason or self.reason(), number,
                        time.time())
        return generation, change

    def reason(self) -> str:
        """What happened, in a sentence."""
        said = list(self.reasons)
        added, removed = list(self.added), list(self.removed)
        if len(added) + len(removed) > 4:
            said.append(f"{len(added)} rules added, {len(removed)} removed")
            return "; ".join(said)
        for rule in added:
            old = next((r for r in removed if r.handle is rule.handle and r.parameters.same(rule.parameters)
                        and r.owner == rule.owner), None)
            if old is not None:
                removed.remove(old)
            said.append(f"{'edit of' if old else 'added'} rule {rule.name} at {rule.place}")
        said += [f"removed rule {rule.name} of {rule.owner}" for rule in removed]
        return "; ".join(said) or "an equal rule was executed after another"


def replaces(rule: Rule, old: Rule) -> bool:
    """Whether `rule` is the next version of `old`: same signature, and the same owner, or two cells without ids."""
    same_owner = rule.owner == old.owner or (rule.owner.anonymous and old.owner.anonymous)
    return same_owner and rule.parameters.same(old.parameters)


def _overtakes(table: Table, rule: Rule, serial: int) -> bool:
    """Whether an equal rule, executed again, passes one that it ties with: an opt-out by types, against another."""
    for other in table.layer(rule.layer):
        if other is rule or other.serial < serial:
            continue
        typed = [r.parameters.typed for r in (rule, other) if r.parameters.typed >= 0]
        if typed:
            n = min(typed)
            if [p.members for p in rule.parameters.parameters[:n]] == \
                    [p.members for p in other.parameters.parameters[:n]]:
                return True
    return False


def mark(table: Table, key: Key) -> None:
    """Write on each rule of a group what holds for it now."""
    top = table.top(key)
    for rule in table.groups.get(key, ()):
        rule.enabled = rule not in table.off
        if not rule.enabled:
            rule.status = "switched off"
        elif rule is not top and top is not None:
            rule.status = f"shadowed by the rule at {top.place}"
        elif not rule.status.startswith("detached"):
            rule.status = f"written for an older {rule.handle.name}" if rule.written_for_older else ""
