"""The cell magic ``%%rrule``: a cell whose function definitions are rules.

    %%rrule det
    def _(a: np.ndarray):
        y = det(a)
        def pullback(ybar):
            return ybar * y * np.linalg.inv(a).T
        return y, pullback

Which definitions are rules is decided by their names; every other statement is a helper and runs as in any cell.
The cell is one transaction: when anything in it raises, the registry is as it was before.
"""

from __future__ import annotations

import ast
import itertools
import types
import weakref
from typing import Any

from IPython.core.error import UsageError

from zad_jupyter.notebook.arguments import Names, no_options
from zad_jupyter.notebook.cells import Cells
from zad_jupyter.notebook.display import CellReport, recording
from zad_jupyter.notebook.ownership import Execution
from zad_jupyter.rules import places, rrule

USAGE = """\
%%rrule [TARGET]

Makes the functions defined in this cell rules for reverse-mode differentiation.

  TARGET     a function, by name or by any expression: det, np.linalg.det, Matrix.__matmul__
             Each `def` named `_` or like the target is a rule for it.
  (nothing)  Each `def` whose name already means a callable that is not this cell's own is a rule for that.
  -h         shows this.

A rule returns (y, pullback), or None to opt out for these values. It binds no name. Other statements run as usual.
Running the cell again replaces its rules; what is no longer written in it is removed."""


class RuleCell:
    """Runs ``%%rrule`` cells in one shell."""

    def __init__(self, shell: Any, cells: Cells, names: Names) -> None:
        self.shell = shell
        self.cells = cells
        self.names = names
        # Helpers that such cells defined, with their cell and parameters: running a cell again must not take its own
        # helper for a function to write a rule for.
        self._helpers: weakref.WeakKeyDictionary[Any, tuple[str | None, str]] = weakref.WeakKeyDictionary()

    def run(self, line: str, body: str) -> CellReport:
        """Run a cell.

        Arguments:
            line: what stands behind ``%%rrule``, without comment.
            body: the lines below.

        Returns:
            What became of the registry, to be shown.

        Errors:
            UsageError: the line cannot be understood, or nothing in the cell is a rule.
            Whatever the cell raises; nothing has changed then.
        """
        __tracebackhide__ = True  # IPython leaves such a frame out of the traceback
        no_options("%%rrule", line)
        target = self.names.target("%%rrule", line) if line else None
        tree, filename = self.cells.parse("%%rrule", body)
        targets = self._targets(tree, line, target)
        execution = Execution(places.owner_of_file(filename))
        if not targets and (tree.body or not execution.mine()):  # all commented out: the rules that it had go
            raise UsageError(_nothing(tree, line))
        with recording() as report:
            try:
                self._statements(tree.body, targets, filename, execution, report)
            except BaseException:  # an interrupt, too, must not leave half a cell's rules
                execution.undo()
                raise
            # This is where the rules just defined will be checked against differences.
            execution.finish()
        return report

    def _statements(
        self,
        body: list[ast.stmt],
        targets: dict[ast.stmt, Any],
        filename: str,
        execution: Execution,
        report: CellReport,
    ) -> None:
        """Run the statements in order; definitions of rules that follow each other come into force together."""
        __tracebackhide__ = True
        for are_rules, statements in itertools.groupby(body, lambda statement: statement in targets):
            if are_rules:
                with execution.defining():
                    for statement in statements:
                        report.defined.append(self._define(statement, targets[statement], filename))
            else:
                for statement in statements:
                    self._execute(statement, filename, is_last=statement is body[-1])

    def _targets(self, tree: ast.Module, line: str, target: Any) -> dict[ast.stmt, Any]:
        """The definitions that are rules, each with its target."""
        found: dict[ast.stmt, Any] = {}
        like = {"_", line.rpartition(".")[2], getattr(target, "__name__", "_")}
        for statement in tree.body:
            if not isinstance(statement, ast.FunctionDef):
                continue
            if target is not None:
                if statement.name in like:
                    found[statement] = target
                continue
            try:
                meant = self.names.lookup(statement.name)
            except KeyError:
                continue
            if callable(meant) and not self._is_own_helper(meant, statement):
                found[statement] = meant
        return found

    def _is_own_helper(self, value: Any, statement: ast.FunctionDef) -> bool:
        """Whether the name means what an earlier run of this very cell defined as a helper."""
        if not isinstance(value, types.FunctionType) or value not in self._helpers:
            return False
        cell, parameters = self._helpers[value]
        here = self.cells.current.id if self.cells.current else None
        if cell is None or here is None:  # without ids a cell cannot be known again; its definitions' parameters can
            return parameters == ast.dump(statement.args)
        return cell == here

    def _define(self, statement: ast.stmt, target: Any, filename: str) -> Any:
        """Make one definition a rule: bound in a namespace that is thrown away, with the person's for its globals."""
        __tracebackhide__ = True
        bound: dict[str, Any] = {}
        self.cells.execute(statement, filename, bound)
        (function,) = bound.values()
        return rrule(target)(function)

    def _execute(self, statement: ast.stmt, filename: str, is_last: bool) -> None:
        """Run a statement that is not a rule, and remember a helper that it defines."""
        __tracebackhide__ = True
        self.cells.execute(statement, filename, show=is_last)
        namespace = self.shell.user_global_ns
        if isinstance(statement, ast.FunctionDef):
            helper = namespace.get(statement.name)
            if isinstance(helper, types.FunctionType):
                here = self.cells.current.id if self.cells.current else None
                self._helpers[helper] = (here, ast.dump(statement.args))


def _nothing(tree: ast.Module, line: str) -> str:
    """Why no definition of the cell is a rule, and what to write."""
    names = [statement.name for statement in tree.body if isinstance(statement, ast.FunctionDef)]
    if not names:
        return "%%rrule: there is no `def` in this cell, so there is no rule"
    if line:
        name = line.rpartition(".")[2]
        return f"%%rrule {line}: no `def` here is a rule for it; name one `_` or `{name}` (not {names[0]})"
    return (
        f"%%rrule: {', '.join(names)} means no callable yet, so nothing here is a rule; "
        f"name the function that the rule is for: %%rrule TARGET"
    )
