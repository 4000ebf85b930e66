"""Where a piece of code stands, and whose it is: a cell of a notebook, or a file.

A `Place` is what messages print ("cell 4:1", "rules.py:12"). An `Owner` is what a rule belongs to: executing the
owner again replaces its rules. Cells are known because the notebook registers the file names that it compiles
them under; everything else is a file.
"""
from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from types import FrameType
from typing import NamedTuple


class Cell(NamedTuple):
    """A registered cell: the label people see, and its identity where the front end sends one."""

    label: str
    cell_id: str | None


_cells: dict[str, Cell] = {}


def register_cell(filename: str, label: str, cell_id: str | None = None) -> None:
    """Say that code compiled under `filename` is a cell.

    Args:
        filename: the name the cell's code is compiled under.
        label: what messages call it, such as "cell 4".
        cell_id: the front end's identity of the cell; None where there is none (terminal, nbclient).

    >>> register_cell("<doc-cell>", "cell 4")
    >>> str(Place("<doc-cell>", 1))
    'cell 4:1'
    """
    _cells[filename] = Cell(label, cell_id)


def forget_cells() -> None:
    """Forget every registered cell (the extension was unloaded)."""
    _cells.clear()


def cell_of(filename: str | None) -> Cell | None:
    """The cell that `filename` was registered for, or None if it is a file."""
    return None if filename is None else _cells.get(filename)


def is_interactive(filename: str) -> bool:
    """Whether this is code that was typed: a cell nobody registered, a prompt, a string. Its name says nothing."""
    return filename.startswith("<") or os.path.basename(os.path.dirname(filename)).startswith("ipykernel_")


@dataclass(frozen=True, slots=True)
class Place:
    """A file (or a cell's file name) and a line of it.

    >>> str(Place("/home/me/rules.py", 12))
    'rules.py:12'
    """

    file: str | None
    line: int

    def __str__(self) -> str:
        cell = cell_of(self.file)
        if cell is not None:
            return f"{cell.label}:{self.line}"
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else "unknown place"


@dataclass(frozen=True, slots=True)
class Owner:
    """What rules belong to. Two owners are the same if their `key` is; the label is for people."""

    kind: str                 # "cell", "file" or "named"
    key: str
    label: str

    @property
    def anonymous(self) -> bool:
        """Whether executing it again cannot be told from executing another: a cell without an id, a prompt."""
        return self.kind != "named" and self.key.startswith(("unnamed:", "<"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Owner) and (self.kind, self.key) == (other.kind, other.key)

    def __hash__(self) -> int:
        return hash((self.kind, self.key))

    def __str__(self) -> str:
        return self.label


def owner_of_file(filename: str | None, module: str = "") -> Owner:
    """The owner that code compiled under `filename` belongs to."""
    cell = cell_of(filename)
    if cell is not None:
        return Owner("cell", cell.cell_id or f"unnamed:{filename}", cell.label)
    name = filename or "<unknown>"
    path = f"<{name}>" if is_interactive(name) else real_path(name)
    return Owner("file", f"{path}#{module}", os.path.basename(name))


@functools.lru_cache(4096)
def real_path(name: str) -> str:
    """The path behind links; the first answer stays, so that what a file defines keeps its owner."""
    return os.path.realpath(name)


def module_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that executes a module or a cell, from `frame` outwards."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" or frame.f_code.co_name.startswith("<cell line"):
            return frame
        frame = frame.f_back
    return None


def owner_of(frame: FrameType | None) -> Owner:
    """The file or cell whose execution `frame` is part of: that of its innermost `<module>` frame."""
    module = module_frame(frame)
    if module is not None:
        return owner_of_file(module.f_code.co_filename, str(module.f_globals.get("__name__", "")))
    return owner_of_file(frame.f_code.co_filename if frame is not None else None)


def being_imported(frame: FrameType | None) -> bool:
    """Whether `frame` runs as part of an import: such rules belong to the module, whoever imports it."""
    module = module_frame(frame)
    spec = module.f_globals.get("__spec__") if module is not None else None
    return bool(getattr(spec, "_initializing", False))
