"""Running a cell again is a set difference: what it no longer defines goes, and what failed is undone.

The registry knows whose each rule is. An `Execution` remembers what there was when a cell began, so that afterwards the
rules that the cell had and did not define again can be removed (`finish`), or everything it did be taken back (`undo`).
Rules are in force from their definition on, so that a gradient in the same cell sees them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zad_jupyter.rules import registry
from zad_jupyter.rules.places import Owner


class Execution:
    """One execution of a cell, from where this is made to `finish` or `undo`.

    Arguments:
        owner: the cell, as the registry knows it.
    """

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._before: list[Any] = list(registry.rules())

    def mine(self) -> list[Any]:
        """The rules that the cell has now, those of earlier executions included."""
        return [rule for rule in registry.rules() if rule.owner == self.owner]

    @contextmanager
    def defining(self) -> Iterator[None]:
        """Rules that are defined in a ``with`` block belong to the cell, and come into force together at its end."""
        with registry.transaction(self.owner):
            # A transaction removes what its owner does not define in it; here that is for `finish` to decide.
            for rule in self.mine():
                if not rule.status.startswith("shadowed"):
                    registry.add(rule)
            yield

    def finish(self) -> list[Any]:
        """The cell has succeeded: remove the rules that it had before and did not define again; returns them."""
        before = set(self._before)
        mine = self.mine()
        stale = [rule for rule in mine if rule in before]
        if stale:
            with registry.transaction(self.owner):
                for rule in mine:
                    if rule not in before:
                        registry.add(rule)
        return stale

    def undo(self) -> None:
        """The cell has failed: the registry says again what it said before."""
        now = registry.rules()
        before = set(self._before)
        if [rule for rule in now if rule in before] == self._before and not any(
            rule.owner == self.owner and rule not in before for rule in now
        ):
            return
        with registry.transaction(self.owner):
            for rule in self._before:
                if rule.owner == self.owner or rule not in now:
                    registry.add(rule)
