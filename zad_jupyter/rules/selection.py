"""Which rule does a call get?

A `Generation` is one immutable state of all the rules. A gradient takes the current one when it starts and keeps it,
so that no call mixes two versions of the rules. Its `select` binds the call, finds the candidates, and looks for the
one that is more specific than every other: first among the user's rules, then among the shipped ones.

The only thing in a generation that changes is its memory of answers.
"""
from __future__ import annotations

import functools
from abc import get_cache_token
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .overrides import Names, overridden, stands_for
from .rule import Answer, Rule
from .signature import Fit, Match, ask, compare, match, members_text, own_signature
from .succession import home_of, is_current
from .targets import Handle, identity, is_same, reference

if TYPE_CHECKING:
    from .registry import Registry

LAYERS = ("user", "shipped")
MEMORIES = 16                  # of generations, before they are made one
REMEMBERED = 1024              # answers per function; a bound, since a remembered answer keeps its classes alive

Types = tuple[type, ...]
Keywords = tuple[tuple[str, type], ...]


@dataclass(frozen=True)
class Table:
    """The rules of one target, those it shares with others included.

    Attributes:
        groups: for each layer and signature the rules that have it, the last executed last.
        off: the rules that are switched off.
        aliases: the other functions that share the table.
    """

    handle: Handle
    groups: dict[tuple[str, Any], tuple[Rule, ...]]
    off: frozenset[Rule] = frozenset()
    aliases: tuple[Callable[[], Any], ...] = ()

    def rules(self) -> list[Rule]:
        """Every rule, shadowed and switched off ones included, in the order of execution."""
        return sorted((rule for group in self.groups.values() for rule in group), key=lambda r: r.serial)

    def top(self, key: tuple[str, Any]) -> Rule | None:
        """The rule in force among those of one signature: the last executed that is switched on."""
        return next((r for r in reversed(self.groups.get(key, ())) if r not in self.off), None)

    def layer(self, name: str) -> list[Rule]:
        """The rules in force in a layer."""
        return self._in_force[name]

    @functools.cached_property
    def _in_force(self) -> dict[str, list[Rule]]:
        found: dict[str, list[Rule]] = {name: [] for name in LAYERS}
        for key in self.groups:
            top = self.top(key)
            if top is not None:
                found[key[0]].append(top)
        return found

    def functions(self) -> tuple[Any, ...]:
        """The functions alive that ask this table."""
        refs = [self.handle.current, *self.handle.older, *self.aliases]
        return tuple(f for f in (ref() for ref in refs) if f is not None)

    @functools.cached_property
    def stands_for(self) -> Names:
        return stands_for(self.functions())


@dataclass(slots=True)
class Candidate:
    """A rule that accepts a call: how it is bound, and how closely each argument fits."""

    rule: Rule
    fit: Fit
    matches: dict[Any, Match]


class Entry:
    """What a generation remembers about one function, for as long as no ABC gets a new class (`token`)."""

    __slots__ = ("answers", "named", "own", "ref", "table", "token")

    def __init__(self, f: Any, table: Table | None) -> None:
        self.token = get_cache_token()
        self.ref = reference(f)
        self.table = table
        self.own = own_signature(f) if table is not None else None
        if table is not None and self.own is None:
            self.own = own_signature(table.handle.get())
        self.answers: dict[Types, Answer] = {}
        self.named: dict[Keywords, dict[Types, Answer]] = {}       # of calls with keywords


Memory = dict[Any, Entry]


class Generation:
    """One state of all the rules. `number` counts the changes that led to it.

    >>> from zad_jupyter.rules import registry
    >>> def f(x): return x
    >>> registry.snapshot().select(f, (list,)).outcome
    'none'
    """

    def __init__(self, registry: Registry, number: int, tables: dict[Handle, Table],
                 index: dict[Any, tuple[Callable[[], Any], Handle]], homes: dict[tuple[str, str], tuple[Handle, ...]],
                 older: tuple[Memory, ...] = ()) -> None:
        self.number = number
        self.tables, self.index, self.homes = tables, index, homes
        self._registry = registry
        self._entries: Memory = {}
        self._older = older       # what the generations before remember: what they say of a table holds if it is ours

    def select(self, f: Any, types: Types, keywords: Keywords = ()) -> Answer:
        """Which rule does the call f(*args, **kwargs) get, for arguments of these classes?

        Args:
            f: any callable.
            types: the classes of the positional arguments.
            keywords: a (name, class) pair for each keyword argument.

        Never raises for an ambiguity: the answer says so.
        """
        try:
            entry = self._entries[id(f)]
            if entry.ref() is f and get_cache_token() == entry.token:
                return entry.named[keywords][types] if keywords else entry.answers[types]
        except KeyError:
            pass
        return self._select(f, types, keywords)

    def _select(self, f: Any, types: Types, keywords: Keywords) -> Answer:
        entry = self._entry(f)
        if len(entry.named) >= REMEMBERED:
            entry.named.clear()
        answers = entry.named.setdefault(keywords, {}) if keywords else entry.answers
        answer = answers.get(types)
        if answer is None:
            if len(answers) >= REMEMBERED:
                answers.clear()
            answer = answers[types] = self.choose(entry, f, types, keywords)
            self._registry.count("selections")
        return answer

    def _entry(self, f: Any) -> Entry:
        key = identity(f)
        entry = self._entries.get(key)
        if entry is None or entry.token != get_cache_token() or not is_same(entry.ref(), f):
            handle = self.find(f)
            if handle is None and self.homes:
                handle = self._by_name(f)
            table = self.tables.get(handle) if handle is not None else None
            entry = self._entries[key] = self._remembered(key, f, table) or Entry(f, table)
            if len(self._entries) % 512 == 0:
                self._entries = {k: e for k, e in self._entries.items() if e.ref() is not None}
        return entry

    def _remembered(self, key: Any, f: Any, table: Table | None) -> Entry | None:
        """What a generation before this one knows of f, if it holds: the table is the same, and no ABC has changed."""
        for memory in self._older:
            entry = memory.get(key)
            if entry is not None:
                holds = entry.table is table and entry.token == get_cache_token() and is_same(entry.ref(), f)
                return entry if holds else None
        return None

    def memories(self) -> tuple[Memory, ...]:
        """What is remembered, for the next generation to look things up in: nothing is copied for a change of rules."""
        every = (self._entries, *self._older)
        if len(every) <= MEMORIES:
            return every
        merged: Memory = {}
        for memory in reversed(every):
            merged.update(memory)
        return ({key: entry for key, entry in merged.items() if entry.ref() is not None},)

    def find(self, f: Any) -> Handle | None:
        """The handle under which f is known, if it is."""
        known = self.index.get(identity(f))
        return known[1] if known is not None and is_same(known[0](), f) else None

    def table(self, f: Any) -> Table | None:
        """The table that answers for f."""
        return self._entry(f).table

    def own_signature(self, f: Any) -> Any:
        """The signature that calls of f are bound to first."""
        return self._entry(f).own

    def _by_name(self, f: Any) -> Handle | None:
        handle, stranger = predecessor(self.homes, f)
        if handle is not None:
            self._registry.follow(handle, f)
        elif stranger is not None:
            self._registry.detach(stranger, f)
        return handle

    # ------------------------------------------------------------------------------------------------ choosing

    def choose(self, entry: Entry, f: Any, types: Types, keywords: Keywords) -> Answer:
        """Select without memory."""
        table = entry.table
        candidates: list[Candidate] = []
        if table is not None:
            given = dict(keywords)
            asked = ask(entry.own, len(types), tuple(given))
            if asked is not None:
                for layer in LAYERS:
                    candidates = []
                    for rule in table.layer(layer):
                        fit = rule.parameters.bind(asked)
                        found = accept(table, rule, fit, types, given) if isinstance(fit, Fit) else None
                        if isinstance(found, Candidate):
                            candidates.append(found)
                    if candidates:
                        break
        if not candidates:
            return Answer("none", message=self._no_rule(table, f, types, keywords))
        best = winner(candidates)
        if isinstance(best, Candidate):
            opted = best.rule.kind == "opt_out"
            message = self._no_rule(table, f, types, keywords, best.rule if opted else None) if opted else ""
            return Answer("opted-out" if opted else "hit", best.rule, best.fit.binding, message=message)
        from .explain import ambiguity
        message, suggestion = ambiguity(f, types, keywords, best)
        return Answer("ambiguous", contenders=tuple(c.rule for c in best), message=message, suggestion=suggestion)

    def _no_rule(self, table: Table | None, f: Any, types: Types, keywords: Keywords, rule: Rule | None = None) -> str:
        from .explain import no_rule
        return no_rule(table, f, types, keywords, rule)


def predecessor(homes: dict[tuple[str, str], tuple[Handle, ...]], f: Any) -> tuple[Handle | None, Handle | None]:
    """The handle that f succeeds; or, second, one of the same name that was written elsewhere."""
    if type(f) is FunctionType:
        name = f.__module__, f.__code__.co_qualname
    elif isinstance(f, type):
        name = f.__module__, f.__qualname__
    else:
        return None, None
    handles = homes.get(name)
    home = home_of(f) if handles else None
    if not handles or home is None or not is_current(f):
        return None, None
    for handle in reversed(handles):
        if handle.home is not None and handle.home.same_source(home):
            return handle, None
    return None, handles[-1]


def accept(table: Table, rule: Rule, fit: Fit, types: Types, keywords: dict[str, type]) -> Candidate | str:
    """Match each argument with the rule's annotations, or say what does not fit."""
    matches: dict[Any, Match] = {}
    for source, members in fit.members.items():
        cls = types[source] if isinstance(source, int) else keywords[source]
        found = match(cls, members)
        if found is None:
            return f"{fit.parameters[source]}: wants {members_text(members)}, got {cls.__name__}"
        if rule.layer == "shipped" and table.stands_for:
            name = overridden(table.stands_for, source if isinstance(source, int) else None, cls, found.member)
            if name is not None:
                return f"{cls.__name__} overrides {name}"
        matches[source] = found
    return Candidate(rule, fit, matches)


def beats(a: Candidate, b: Candidate) -> bool:
    """Whether a is more specific than b: in some argument, and in none less; then by defaults; then without *args."""
    strictly = False
    for source, found in a.matches.items():
        order = compare(found, b.matches[source])
        if order is None or order > 0:
            return False
        strictly = strictly or order < 0
    if strictly:
        return True
    if any(compare(b.matches[source], found) != 0 for source, found in a.matches.items()):
        return False
    ranks = [(c.fit.filled, c.rule.parameters.defaults, c.rule.parameters.variadic) for c in (a, b)]
    if ranks[0] != ranks[1]:
        return ranks[0] < ranks[1]
    # Alike for this call. An opt-out by types covers the parameters after them too: against it, the last written wins.
    opted = a.rule.parameters.typed >= 0 or b.rule.parameters.typed >= 0
    return opted and a.rule.serial > b.rule.serial


def winner(candidates: Iterable[Candidate]) -> Candidate | list[Candidate]:
    """The candidate that beats every other; if there is none, those that nobody beats."""
    every = list(candidates)
    best = every[0]
    for other in every[1:]:
        if beats(other, best):
            best = other
    if all(other is best or beats(best, other) for other in every):
        return best
    unbeaten = [c for c in every if not any(beats(other, c) for other in every)]
    return unbeaten if len(unbeaten) > 1 else every


__all__ = ["Candidate", "Generation", "Table", "accept", "beats", "winner"]
