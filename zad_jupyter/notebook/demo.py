"""The demo: execute a notebook in a real kernel, print it cell by cell as one reads it, and open it in JupyterLab.

    python -m zad_jupyter.notebook.demo examples/tour.ipynb [--no-lab]

This is what `make demo` runs. The file itself is not changed. JupyterLab opens only where somebody sits: at a terminal.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ANSI = re.compile(r"\x1b\[[0-9;]*m")
GUTTER = "  │ "


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; returns the exit status: 0, or 1 if a cell failed that is not tagged `raises-exception`."""
    parser = argparse.ArgumentParser(prog="python -m zad_jupyter.notebook.demo", description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--no-lab", action="store_true", help="do not open JupyterLab afterwards")
    options = parser.parse_args(arguments)
    if not options.notebook.is_file():
        parser.error(f"there is no notebook {options.notebook}")
    try:
        tell(options.notebook)
    except CellExecutionError as error:
        reason = ANSI.sub("", f"{error.ename}: {error.evalue}")
        print(f"\n{options.notebook} stopped at this cell: {reason}", file=sys.stderr)
        return 1
    if sys.stdin.isatty() and sys.stdout.isatty() and not options.no_lab:
        open_lab(options.notebook)
    return 0


def tell(path: Path, colour: bool | None = None) -> None:
    """Execute the notebook at `path` and print each cell and its outputs as soon as they are there.

    Arguments:
        path: the notebook; it runs in its own folder, on this Python.
        colour: whether to keep colours; by default, at a terminal only.

    Raises:
        CellExecutionError: a cell failed, and nothing says that it should.
    """
    colour = sys.stdout.isatty() if colour is None else colour
    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=300,
        resources={"metadata": {"path": str(path.parent or ".")}},
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # its warnings are not part of the story
    )
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type == "markdown":
                show(["", *cell.source.splitlines()], colour, "1")
            elif cell.cell_type == "code" and cell.source.strip():
                show(["", *(GUTTER + line for line in cell.source.splitlines())], colour, "36")
                try:
                    client.execute_cell(cell, index)
                finally:
                    show(list(lines_of(cell.outputs)), colour)


def lines_of(outputs: list[Any]) -> Iterator[str]:
    """The outputs of one cell as lines of text; an error is its last line, which is the message.

    >>> list(lines_of([{"output_type": "error", "ename": "TypeError", "evalue": "no rule\\nfor f", "traceback": []}]))
    ['TypeError: no rule', 'for f']
    """
    for output in outputs:
        match output:
            case {"output_type": "stream", "text": text}:
                yield from text.splitlines()
            case {"output_type": "error", "ename": name, "evalue": value}:
                yield from f"{name}: {value}".splitlines()
            case {"data": {"text/plain": text}}:
                yield from text.splitlines()


def show(lines: list[str], colour: bool, code: str = "") -> None:
    """Print lines, in the terminal colour `code` or, without one, in their own."""
    for line in lines:
        if not colour:
            line = ANSI.sub("", line)
        elif code and line:
            line = f"\x1b[{code}m{line}\x1b[0m"
        print(line, flush=True)


def open_lab(path: Path) -> None:
    """Become JupyterLab, on this machine's own address only, with the notebook open. Does not return."""
    print(f"\nOpening {path} in JupyterLab; the zad panel is in the right sidebar. Ctrl-C twice ends it.", flush=True)
    command = [sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", str(path)]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
