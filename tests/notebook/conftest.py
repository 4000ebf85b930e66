"""A real IPython shell with the extension loaded, into which tests type cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from zad_jupyter import notebook
from zad_jupyter.rules import registry


@dataclass
class Ran:
    """What a cell did: its words on the screen, its value, its error."""

    out: str
    value: Any
    error: BaseException | None


class Notebook:
    """Types cells into a shell as a person does."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def __call__(self, text: str, cell_id: str | None = None) -> Ran:
        """Run a cell; the test goes on whether it raises or not."""
        with capture_output() as said:
            result = self.shell.run_cell(text, store_history=True, cell_id=cell_id)
        shown = "".join(output.data.get("text/plain", "") + "\n" for output in said.outputs)
        words = re.sub(r"\x1b\[[0-9;]*m", "", said.stdout + said.stderr + shown)
        return Ran(words, result.result, result.error_before_exec or result.error_in_exec)

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    def ok(self, text: str, cell_id: str | None = None) -> Ran:
        """Run a cell that must not raise."""
        ran = self(text, cell_id)
        assert ran.error is None, ran.out
        return ran


@pytest.fixture
def bare():
    """A shell without the extension."""
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    yield Notebook(shell)
    notebook.unload_ipython_extension(shell)
    # Every shell's cells define the same names in __main__: rules must not follow them into the next test.
    for rule in registry.rules():
        if rule.layer == "user":
            registry.remove(rule)
    InteractiveShell.clear_instance()


@pytest.fixture
def nb(bare):
    """A shell with the extension, and `det` and `Tri` to write rules for."""
    notebook.load_ipython_extension(bare.shell)
    bare.ok("import numpy as np\ndef det(a):\n    return np.linalg.det(a)\nclass Tri(np.ndarray): pass")
    return bare
