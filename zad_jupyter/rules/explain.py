"""Why did a call get this rule, or none? `which_rule` and the texts of the errors.

The text is the call as it was made, then every rule of the function with where it stands and what became of it:
chosen, less specific, or what does not fit.
"""
from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import Parameter as P
from types import MethodType
from typing import Any, Literal

from .errors import NoRuleError
from .registry import Registry, registry
from .rule import OPT_OUT, Answer, Rule
from .selection import Candidate, Generation, Keywords, Table, Types, accept, beats
from .signature import Fit, ask, compare, members_text, own_signature
from .targets import display_name


@dataclass(frozen=True, slots=True)
class Considered:
    """One rule of the function, and what became of it: `fate` is a phrase, `applies` says whether it fits the call."""

    rule: Rule
    fate: str
    applies: bool


def call_text(f: Any, types: Types, keywords: Keywords = ()) -> str:
    """The call as a signature: "det(ndarray)", "cat(list, init=float)"."""
    parts = [t.__name__ for t in types] + [f"{name}={t.__name__}" for name, t in keywords]
    return f"{display_name(f)}({', '.join(parts)})"


def consider(generation: Generation, f: Any, types: Types, keywords: Keywords, answer: Answer) -> list[Considered]:
    """Every rule of f with its fate: what applies first, then the closest of what does not."""
    table = generation.table(f)
    if table is None:
        return []
    return _consider(table, generation.own_signature(f), types, keywords, answer)


def _consider(table: Table, own: Any, types: Types, keywords: Keywords, answer: Answer) -> list[Considered]:
    given = dict(keywords)
    asked = ask(own, len(types), tuple(given))
    found: list[tuple[tuple[int, int], Considered]] = []
    for rule in reversed(table.rules()):
        key = (rule.layer, rule.parameters.key)
        if asked is None:
            fate, rank = "the function cannot be called so", (9, 0)
        else:
            fit = rule.parameters.bind(asked)
            got = accept(table, rule, fit, types, given) if isinstance(fit, Fit) else fit
            if isinstance(got, str):
                fate, rank = got, (6 if isinstance(fit, Fit) else 7, 0)
            elif rule in table.off:
                fate, rank = "switched off", (5, 0)
            elif table.top(key) is not rule:
                top = table.top(key)
                fate, rank = f"shadowed: executed before the rule at {top.place if top else '?'}", (4, 0)
            elif rule is answer.rule:
                fate, rank = "chosen", (0, 0)
            elif rule in answer.contenders:
                fate, rank = "applies; neither more nor less specific", (1, 0)
            elif answer.rule is not None and answer.rule.layer != rule.layer:
                fate, rank = "applies; rules of the user come first", (3, 0)
            else:
                fate, rank = _less_specific(table, answer, got, asked, types, given), (2, 0)
        found.append(((rank[0], -rule.serial), Considered(rule, fate, rank[0] < 4)))
    return [considered for _, considered in sorted(found, key=lambda pair: pair[0])]


def _less_specific(table: Table, answer: Answer, other: Candidate, asked: Any, types: Types,
                   given: dict[str, type]) -> str:
    """In which argument, or by what, the chosen rule is the more specific."""
    if answer.rule is None:
        return "applies, but is less specific"
    fit = answer.rule.parameters.bind(asked)
    best = accept(table, answer.rule, fit, types, given) if isinstance(fit, Fit) else None
    if not isinstance(best, Candidate) or not beats(best, other):
        return "applies, but is less specific"
    for source, match in other.matches.items():
        if compare(best.matches[source], match) == -1:
            return f"applies, but is less specific in {other.fit.parameters[source]}"
    if best.fit.filled != other.fit.filled or best.rule.parameters.defaults != other.rule.parameters.defaults:
        return "applies, but has more defaults"
    if best.rule.parameters.variadic != other.rule.parameters.variadic:
        return "applies, but has *args"
    return "applies, but was written before"


def no_rule(table: Table | None, f: Any, types: Types, keywords: Keywords, opted: Rule | None) -> str:
    """The text of a NoRuleError: what was called, what there is and why it does not fit, and what to write."""
    call = call_text(f, types, keywords)
    name = display_name(f)
    if opted is not None:
        return f"no rule for {call}; opted out at {opted.place}"
    lines = [f"no rule for {call}"]
    if table is not None:
        own = _own(table, f)
        near = _consider(table, own, types, keywords, Answer("none"))
        lines += [f"    {c.rule.name}  {c.rule.place}  ✗ {c.fate}" for c in near[:3]]
        if len(near) > 3:
            lines.append(f"    and {len(near) - 3} more")
    params = ", ".join([f"{_letter(i)}: {t.__name__}" for i, t in enumerate(types)]
                       + [f"{k}: {t.__name__}" for k, t in keywords])
    letters = [_letter(i) for i in range(len(types))]
    names = ", ".join(letters + [f"{k}={k}" for k, _ in keywords])
    bars = ", ".join(["..." for _ in letters + list(keywords)])
    return "\n".join([*lines, "  To give it one:", f"    @rrule({name})", f"    def _({params}):",
                      f"        y = {name}({names})", "        def pullback(ybar):",
                      f"            return {bars}", "        return y, pullback"])


def _own(table: Table, f: Any) -> Any:
    return own_signature(f) or own_signature(table.handle.get())


def _letter(i: int) -> str:
    return "abcdefgh"[i] if i < 8 else f"a{i}"


def ambiguity(f: Any, types: Types, keywords: Keywords, between: Sequence[Candidate]) -> tuple[str, str]:
    """The text of an AmbiguousRuleError, and the signature that would settle it."""
    given = dict(keywords)
    name = display_name(f)
    settled: dict[Any, tuple[str, str]] = {}
    for source in between[0].matches:
        cls = types[source] if isinstance(source, int) else given[source]
        best = between[0].matches[source]
        known = True
        for other in between[1:]:
            order = compare(best, other.matches[source])
            if order is None:
                known = False
            elif order > 0:
                best = other.matches[source]
        text = members_text(best.members) if known else cls.__name__
        settled[source] = between[0].fit.parameters[source], text
    suggestion = f"{name}({', '.join(t if isinstance(s, int) else f'{s}: {t}' for s, (_, t) in settled.items())})"
    width = max(len(c.rule.name) for c in between)
    lines = [f"{call_text(f, types, keywords)} is ambiguous: {_number(len(between))} rules apply and none is more "
             "specific than the others" if len(between) > 2 else
             f"{call_text(f, types, keywords)} is ambiguous: two rules apply and neither is more specific"]
    lines += [f"    {c.rule.name:<{width}}  {c.rule.place}" for c in between]
    inside = ", ".join(n if t == "object" else f"{n}: {t}" for n, t in settled.values())
    lines += [f"  To settle it, define {suggestion}:", f"    @rrule({name})", f"    def _({inside}): ..."]
    return "\n".join(lines), suggestion


def _number(n: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(n, str(n))


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a call gets the rule it gets. `str()` tells it as text; notebooks show it as a table.

    Attributes:
        call: the call, such as "det(ndarray)".
        outcome: "hit", "opted-out", "none" or "ambiguous".
        rule: the rule chosen, or None.
        candidates: every rule of the function with its fate, what applies first.
    """

    call: str
    outcome: Literal["hit", "opted-out", "none", "ambiguous"]
    rule: Rule | None
    candidates: list[Considered]
    answer: Answer

    def headline(self) -> str:
        """The answer in a sentence."""
        rule = self.rule
        if rule is not None:
            where = f"{rule.name} at {rule.place}"
            if self.outcome == "opted-out":
                return f"{self.call}: opted out by {where}; the body is differentiated"
            maybe = "; it may opt out, by returning None for some values" if rule.may_opt_out else ""
            if rule.kind == "non_differentiable":
                return f"{self.call}: said to be non-differentiable at {rule.place}"
            return f"{self.call}: hit, {where}{maybe}"
        if self.outcome == "ambiguous":
            return f"{self.answer.message.splitlines()[0]}; define {self.answer.suggestion}"
        return f"{self.call}: no rule; the body is differentiated, if it is Python"

    def __str__(self) -> str:
        lines = [self.headline()]
        width = max((len(c.rule.name) for c in self.candidates), default=0)
        places = max((len(self._where(c.rule)) for c in self.candidates), default=0)
        for c in self.candidates:
            sign = "✓" if c.fate == "chosen" else "·" if c.applies else "✗"
            lines.append(f"  {sign} {c.rule.name:<{width}}  {self._where(c.rule):<{places}}  {c.fate}")
        return "\n".join(lines)

    def _where(self, rule: Rule) -> str:
        return f"{'shipped ' if rule.layer == 'shipped' else ''}{rule.place}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'✓' if c.fate == 'chosen' else '·' if c.applies else '✗'}</td>"
            f"<td style='text-align:left'><code>{html.escape(c.rule.name)}</code></td>"
            f"<td style='text-align:left'>{html.escape(self._where(c.rule))}</td>"
            f"<td style='text-align:left'>{html.escape(c.fate)}</td></tr>" for c in self.candidates)
        return f"<div><p>{html.escape(self.headline())}</p><table>{rows}</table></div>"


def which_rule(f: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Explain which rule the call f(*args, **kwargs) gets, and why. Nothing is called.

    >>> from zad_jupyter.rules import rrule
    >>> def half(x): return x / 2
    >>> @rrule(half)
    ... def _(x: float): return x / 2, lambda g: g / 2
    >>> which_rule(half, 1.0).outcome
    'hit'
    """
    return explain(registry, f, tuple(map(type, args)), tuple((k, type(v)) for k, v in kwargs.items()))


def explain(known: Registry | Generation, f: Any, types: Types, keywords: Keywords = ()) -> Explanation:
    """`which_rule` for classes of arguments, in any registry or generation."""
    generation = known.snapshot() if isinstance(known, Registry) else known
    if type(f) is MethodType and generation.table(f) is None:
        f, types = f.__func__, (type(f.__self__), *types)       # a method's rule has self first
    answer = generation.select(f, types, keywords)
    return Explanation(call_text(f, types, keywords), answer.outcome, answer.rule,
                       consider(generation, f, types, keywords, answer), answer)


def call_rule(f: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Look the rule of a call up by hand and run it: `y, pullback = call_rule(det, a)`.

    Raises:
        NoRuleError: there is no rule, or it opted out; the message says which, and where.
        AmbiguousRuleError: there are several, and none is the most specific.

    Only rules written with `rrule` can be run so.
    """
    types, keywords = tuple(map(type, args)), tuple((k, type(v)) for k, v in kwargs.items())
    answer = registry.select(f, types, keywords)
    rule = answer.rule
    if answer.outcome != "hit" or rule is None or answer.binding is None or rule.kind != "rrule":
        raise answer.error() if answer.outcome != "hit" else TypeError(
            f"{rule.name if rule else f} is of kind {rule.kind if rule else None!r}: it has no function to run")
    positional, named = given_arguments(rule, answer.binding, args, kwargs)
    result = rule.call(*positional, **named)
    if result is OPT_OUT:
        raise NoRuleError(f"no rule for {call_text(f, types, keywords)} with these values; the rule at {rule.place} "
                          "opted out")
    y, pullback = result
    return y, pullback


def given_arguments(rule: Rule, binding: tuple[Any, ...], args: Sequence[Any],
                    kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments to call a rule's function with, from those of the call and the answer's binding."""
    def value(source: Any) -> Any:
        return args[source] if isinstance(source, int) else kwargs[source]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for p, source in zip(rule.parameters.parameters, binding, strict=True):
        if p.kind is P.VAR_POSITIONAL:
            positional += [value(s) for s in source]
        elif p.kind is P.VAR_KEYWORD:
            named.update((s, value(s)) for s in source)
        elif p.kind is P.KEYWORD_ONLY:
            if source is not None:
                named[p.name] = value(source)
        else:
            positional.append(value(source) if source is not None else p.default)
    return positional, named
