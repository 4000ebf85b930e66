"""The selection tree as the compiler writes it down: one `Call` for every call that a gradient may make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .ir import Pos


@dataclass
class Call:
    """One call and what became of it.

    Attributes:
        outcome: "hit", "opted-out", "recursed", "inactive" or "error".
        function: the callee's name as a person would write it, such as `np.sin`.
        types: names of the arguments' types.
        rule: the rule that decided, or None.
        file: the file or cell of the call itself, None when it has no place.
        line: the line of the call in that file.
        children: the calls that the callee's own body makes, when it was looked into.
        count: how often the call ran; 0 in a static tree, which was never run.
        note: a remark, such as the reason of an error.
    """

    outcome: str
    function: str
    types: tuple[str, ...] = ()
    rule: Any = None
    file: str | None = None
    line: int = 0
    children: list[Call] = field(default_factory=list)
    count: int = 0
    note: str = ""


def place_parts(pos: Pos | None) -> tuple[str | None, int]:
    """The file and line of a position, as a call keeps them."""
    return (None, 0) if pos is None else (pos.file, pos.line)
