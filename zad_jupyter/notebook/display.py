"""What the magics show: the report of a ``%%rrule`` cell, and the table of ``%zad rules``.

Each has a text face for the terminal and an HTML face for the notebook, saying the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any

from zad_jupyter.rules import registry


class Shown:
    """Rows of words, as text and as HTML. Subclasses give `rows` and `footer`."""

    def rows(self) -> list[tuple[str, ...]]:
        """The rows; all have the same number of columns."""
        raise NotImplementedError

    def footer(self) -> str:
        """A line under the rows, or nothing."""
        return ""

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = [
            "   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        return "\n".join([*lines, *filter(None, [self.footer()])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        quiet = ' style="opacity:.65;text-align:left"'
        body = "".join(
            f'<tr><td style="text-align:left">{escape(row[0])}</td>'
            f'<td style="text-align:left"><code>{escape(row[1])}</code></td>'
            + "".join(f"<td{quiet}>{escape(cell)}</td>" for cell in row[2:])
            + "</tr>"
            for row in self.rows()
        )
        footer = f'<div style="opacity:.65">{escape(self.footer())}</div>' if self.footer() else ""
        return f"<table>{body}</table>{footer}"


@dataclass(repr=False)
class CellReport(Shown):
    """What a ``%%rrule`` cell did: one row for each rule, and how many gradients it cost.

    Attributes:
        defined: the rules the cell defined, in order.
        changes: the registry's changes while it ran.
        dropped: how many compiled gradients were dropped.
    """

    defined: list[Any] = field(default_factory=list)
    changes: list[Any] = field(default_factory=list)
    dropped: int = 0

    def rows(self) -> list[tuple[str, ...]]:
        added = [rule for change in self.changes for rule in change.added]
        removed = {_identity(rule): rule for change in self.changes for rule in change.removed}
        new = {_identity(rule) for rule in added}
        rows: list[tuple[str, ...]] = []
        for rule in self.defined:
            key = _identity(rule)
            word = "unchanged" if key not in new else "changed" if key in removed else "added"
            rows.append((word, rule.name + _effect(rule), str(rule.place)))
        mine = {_identity(rule) for rule in self.defined}
        rows.extend(("removed", rule.name, str(rule.place)) for key, rule in removed.items() if key not in mine)
        return rows

    def footer(self) -> str:
        if not self.dropped:
            return ""
        return f"dropped {self.dropped} compiled gradient{'s' if self.dropped > 1 else ''}"


@contextmanager
def recording() -> Iterator[CellReport]:
    """Record what happens to the registry in a ``with`` block, in a `CellReport`."""
    report = CellReport()
    before = registry.statistics().get("drops", 0)
    unsubscribe = registry.subscribe(report.changes.append)
    try:
        yield report
    finally:
        unsubscribe()
        report.dropped = registry.statistics().get("drops", 0) - before


@dataclass(repr=False)
class RulesTable(Shown):
    """The rules of one function, or all that the user wrote.

    Attributes:
        rules: the rules to show.
        shipped: how many shipped rules are not shown.
        notes: what else is to be known, such as edits that are not in force.
    """

    rules: Sequence[Any]
    shipped: int = 0
    notes: Sequence[str] = ()

    def rows(self) -> list[tuple[str, ...]]:
        return [(_state(rule), rule.name + _effect(rule), _where(rule), _status(rule)) for rule in self.rules]

    def footer(self) -> str:
        more = f"{self.shipped} shipped rules; %zad rules F shows those of F" if self.shipped else ""
        return " · ".join(filter(None, ["" if self.rules else "no rule yet", more, *self.notes]))

    def __str__(self) -> str:
        return super().__str__() if self.rules else self.footer()

    __repr__ = __str__


def _identity(rule: Any) -> tuple[int, str]:
    return id(rule.handle), rule.signature


def _effect(rule: Any) -> str:
    return " → opt out" if rule.kind == "opt_out" else " → no derivative" if rule.kind == "non_differentiable" else ""


def _state(rule: Any) -> str:
    return "on" if rule.enabled else "off"


def _status(rule: Any) -> str:
    status = str(getattr(rule, "status", "") or "")
    return "" if status in ("switched off",) else status


def _where(rule: Any) -> str:
    return f"shipped · {rule.place}" if rule.layer == "shipped" else str(rule.place)
