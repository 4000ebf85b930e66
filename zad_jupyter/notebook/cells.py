"""Which cell is running, and which file name stands for which cell.

IPython compiles every cell under a file name that no person wants to read. Before a cell runs it is registered with
`rules.places` under the number that the person sees, ``In [4]`` → "cell 4", and under its cell id where the frontend
sends one (JupyterLab and Notebook do; nbclient and the terminal do not).
"""

from __future__ import annotations

import ast
import contextlib
import types
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from zad_jupyter.rules import places
from zad_jupyter.rules.syntax import in_force


@dataclass
class Cell:
    """A cell that is running: its execution number, its text as typed, its id if it has one, and its file name."""

    info: Any
    number: int
    raw: str
    id: str | None
    filename: str

    @property
    def label(self) -> str:
        """The cell as the person knows it: "cell 4"."""
        return f"cell {self.number}"


class Cells:
    """Follows the shell through its cells; `before` and `after` are IPython's pre_run_cell and post_run_cell hooks."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._running: list[Cell] = []  # a cell may run another one: get_ipython().run_cell(...)
        # Newer IPythons count up before they tell us of a cell, older ones after the cell. Those that count first
        # keep the number they had in a variable.
        code = InteractiveShell.run_cell_async.__code__
        self._counts_first = "execution_count" in code.co_varnames + code.co_cellvars

    @property
    def current(self) -> Cell | None:
        """The innermost cell that is running, None between cells and in the cell that loaded the extension."""
        return self._running[-1] if self._running else None

    @property
    def identity(self) -> str | None:
        """By what the running cell is known when it runs again: its id, or else what is written in it."""
        cell = self.current
        return None if cell is None else cell.id or cell.raw

    def register_past(self) -> None:
        """Name the cells that ran before the extension was loaded, and the one that is loading it."""
        for filename, number in dict(getattr(self.shell.compile, "_filename_map", {})).items():
            places.register_cell(filename, f"cell {number}")

    def before(self, info: Any) -> Cell:
        """Note that a cell begins, and register its file name."""
        stored = info.store_history and not info.silent
        number = self.shell.execution_count - (self._counts_first and stored)
        transformed = getattr(info, "transformed_cell", None)
        if transformed is None:  # IPython 8 does not pass it on; an input that cannot be transformed has no file
            transformed = info.raw_cell
            with contextlib.suppress(Exception):
                transformed = self.shell.transform_cell(info.raw_cell)
        filename = self.shell.compile.get_code_name(info.raw_cell, transformed, number)
        cell = Cell(info, number, info.raw_cell, getattr(info, "cell_id", None) or None, filename)
        places.register_cell(filename, cell.label, cell.id)
        self._running.append(cell)
        self._timed(cell)
        return cell

    def _timed(self, cell: Cell) -> None:
        """`%%time` compiles what stands below it under a name without text: this is the text."""
        first, _, body = cell.raw.lstrip().partition("\n")
        if first.split()[:1] == ["%%time"]:
            with contextlib.suppress(Exception):  # what cannot be transformed does not run either
                in_force["<timed exec>"] = self.shell.transform_cell(body).splitlines(keepends=True)

    def after(self, result: Any) -> Cell | None:
        """Note that a cell ended. None when its beginning was not seen (it loaded the extension, or was empty)."""
        if self._running and self._running[-1].info is result.info:
            return self._running.pop()
        return None

    def name_for(self, text: str, raw: str | None = None) -> str:
        """A file name under which tracebacks and inspect find ``text``, as a part of the running cell.

        Arguments:
            text: Python source.
            raw: the whole cell as typed, when ``text`` stands for all of it, line by line. A kernel names a cell's
                file by what was typed: this is the name that the debugger and the panel know the cell by.
        """
        cell = self.current
        number = cell.number if cell else self.shell.execution_count
        filename: str = self.shell.compile.cache(text, number, raw_code=raw)
        places.register_cell(filename, f"cell {number}", cell.id if cell else None)
        return filename

    def parse(self, magic: str, body: str) -> tuple[ast.Module, str]:
        """Read the body of a cell magic as IPython reads a cell: magics inside it work, too.

        Line numbers are those of the whole cell, and the file is registered as this cell, so that tracebacks and
        ``inspect.getsource`` show what the person typed.

        Returns:
            The statements, and the file name to compile them under.
        """
        above, raw = [magic], None
        if self.current is not None:
            lines = self.current.raw.splitlines()
            first = next((i for i, line in enumerate(lines) if line.strip()), 0)
            if lines and lines[first].lstrip().startswith(magic):
                above, raw = lines[: first + 1], self.current.raw
        # The lines above become comments: IPython would take empty ones away, and with them the line numbers.
        commented = "".join(f"#{line}\n" for line in above)
        text = self.shell.transform_cell(commented + body)
        filename = self.name_for(text, raw)
        return self.shell.transform_ast(self.shell.compile.ast_parse(text, filename=filename)), filename

    def execute(
        self, statement: ast.stmt, filename: str, bound: dict[str, Any] | None = None, show: bool = False
    ) -> None:
        """Run one statement of a parsed cell.

        Arguments:
            statement: one of `parse`'s.
            filename: `parse`'s file name.
            bound: where the names that it binds go; the person's namespace when left out.
            show: whether the value of an expression is shown, as at the end of a cell.
        """
        __tracebackhide__ = True  # IPython leaves such a frame out of the traceback
        names = self.shell.user_global_ns
        code: types.CodeType
        if show and isinstance(statement, ast.Expr):
            code = self.shell.compile(ast.Interactive([statement]), filename, "single")
        else:
            code = self.shell.compile(ast.Module([statement], []), filename, "exec")
        exec(code, names, names if bound is None else bound)
