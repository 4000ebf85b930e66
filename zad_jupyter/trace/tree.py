"""One call tree, made ready to be shown.

The compiler leaves a tree of ``Call``s: one for every call it met, in order. People cannot read a thousand equal
rows, so here identical siblings are folded into one ("×1000"), and what is beyond the limits is counted instead of
kept. The result, a tree of `Node`s, holds only text and numbers: it never keeps a user's value alive, and every face
(text, HTML, JSON, the panel) is made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from zad_jupyter.rules.places import Place

if TYPE_CHECKING:
    from zad_jupyter.compiler.calls import Call

#: how an outcome is said and drawn; colour is never the only sign
OUTCOMES: dict[str, tuple[str, str]] = {
    "hit": ("✓", "hit"),
    "opted-out": ("↷", "opted out"),
    "recursed": ("↓", "recursed"),
    "inactive": ("–", "inactive"),
    "error": ("✕", "error"),
}


@dataclass(frozen=True)
class Limits:
    """How much of a tree is kept: levels, children of one node, and nodes in all."""

    depth: int = 60
    children: int = 200
    nodes: int = 4000


@dataclass(frozen=True)
class Node:
    """One row of the tree: a call, or several identical ones.

    ``count`` is how often it ran (0: found by the compiler, not run), ``sites`` how many equal calls of the source
    were folded into it, ``hidden`` how many rows below it were left out.
    """

    outcome: str
    function: str
    types: tuple[str, ...] = ()
    rule: str | None = None
    signature: str | None = None
    rule_place: str | None = None
    place: str | None = None
    count: int = 0
    note: str = ""
    children: tuple[Node, ...] = field(default=())
    sites: int = 1
    hidden: int = 0

    @property
    def call(self) -> str:
        """The call as it is shown: ``det(Tri)``."""
        return f"{self.function}({', '.join(self.types)})"

    @property
    def times(self) -> str:
        """``×12``, or nothing for a single call."""
        number = self.count or self.sites
        return f"×{number:,}".replace(",", "\u202f") if number > 1 else ""

    @property
    def chosen(self) -> str:
        """Which rule decided, in a few words: ``shipped``, or ``(a: Tri) at cell 6:1``."""
        if self.rule is None:
            return ""
        if self.rule_place == "shipped":
            return "shipped"
        rule = self.signature or self.rule
        return f"{rule} at {self.rule_place}" if self.rule_place else rule

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


def tree(root: Call, limits: Limits | None = None) -> Node:
    """Fold a call tree into nodes.

    Arguments:
        root: the ``Call`` at the top; it is only read.
        limits: how much to keep.

    Returns:
        The `Node` of ``root``.

    Example:
        >>> from zad_jupyter.compiler.calls import Call
        >>> leaf = Call("hit", "np.tanh", ("ndarray",), None, None, 0, [], 1, "")
        >>> tree(Call("recursed", "loss", ("ndarray",), None, None, 0, [leaf, leaf], 1, "")).children[0].times
        '×2'
    """
    return _Folder(limits or Limits()).fold(root, 1, ())


def summary(root: Node) -> str:
    """How many calls ended how: ``12 hit · 1 opted out``. Counts the rows that are shown, each as often as it ran."""
    numbers = dict.fromkeys(OUTCOMES, 0)
    for node in root.walk():
        numbers[node.outcome] = numbers.get(node.outcome, 0) + (node.count or node.sites)
    said = (f"{number} {OUTCOMES.get(outcome, ('', outcome))[1]}" for outcome, number in numbers.items() if number)
    return " · ".join(said)


class _Folder:
    """Folds depth first, with one budget of nodes for the whole tree."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = limits.nodes

    def fold(self, call: Call, depth: int, above: tuple[int, ...]) -> Node:
        self.left -= 1
        node = _row(call)
        # A static tree of a recursive function may lead back to itself: it is shown once and then named.
        if id(call) in above:
            return replace(node, note=node.note or "as above")
        if not call.children:
            return node
        if depth >= self.limits.depth or self.left <= 0:
            return replace(node, hidden=_descendants(call))
        above = (*above, id(call))
        kept: dict[tuple[object, ...], Node] = {}
        hidden = 0
        for child in call.children:
            if self.left <= 0:
                hidden += 1 + _descendants(child)
                continue
            folded = self.fold(child, depth + 1, above)
            key = _key(folded)
            if key in kept:
                self.left += sum(1 for _ in folded.walk())  # folding it away gives its rows back
                kept[key] = _merge(kept[key], folded)
            elif len(kept) < self.limits.children:
                kept[key] = folded
            else:
                hidden += sum(1 + node.hidden for node in folded.walk())
        return replace(node, children=tuple(kept.values()), hidden=hidden)


def _row(call: Call) -> Node:
    rule = call.rule
    return Node(
        outcome=call.outcome,
        function=call.function,
        types=tuple(call.types),
        rule=None if rule is None else rule.name,
        signature=None if rule is None else rule.signature,
        rule_place=None if rule is None else "shipped" if rule.layer == "shipped" else str(rule.place),
        place=None if call.file is None else str(Place(call.file, call.line)),
        count=call.count,
        note=call.note,
    )


def _key(node: Node) -> tuple[object, ...]:
    """What must be equal for two siblings to be one row: everything but the counts, all the way down."""
    same = (node.outcome, node.function, node.types, node.rule, node.rule_place, node.place, node.note)
    return (*same, tuple(_key(child) for child in node.children))


def _merge(one: Node, other: Node) -> Node:
    children = tuple(_merge(a, b) for a, b in zip(one.children, other.children, strict=True))
    return replace(
        one,
        count=one.count + other.count,
        sites=one.sites + other.sites,
        hidden=one.hidden + other.hidden,
        children=children,
    )


def _descendants(call: Call, most: int = 1_000_000) -> int:
    """How many calls are below this one, each object counted once (so that a loop in the tree ends)."""
    seen: set[int] = set()
    stack: list[Sequence[Call]] = [call.children]
    while stack and len(seen) < most:
        for child in stack.pop():
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child.children)
    return len(seen)
