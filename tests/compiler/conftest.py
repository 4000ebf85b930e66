"""Cells, as a notebook runs them: their source can be found, their names are shared; rules go when the test ends."""

from __future__ import annotations

import itertools
import linecache
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import pytest

from zad_jupyter.rules import forget_cells, register_cell, registry

counter = itertools.count(1)

PRELUDE = """
import math
import operator
import numpy as np
from zad_jupyter import *
from zad_jupyter.rules import *
"""


class Notebook:
    """Cells of one module; `run(text)` executes the next one, and `notebook["f"]` is what it has defined."""

    def __init__(self, name: str) -> None:
        self.module = types.ModuleType(name)
        self.names: dict[str, Any] = self.module.__dict__
        exec(PRELUDE, self.names)
        self.cells = 0
        self.asked: dict[str, Any] = {}

    def run(self, text: str) -> str:
        """Execute a cell; gives the name of its file."""
        self.cells += 1
        file = f"<{self.module.__name__}, cell {self.cells}>"
        register_cell(file, f"cell {self.cells}")
        exec(self.compiled(textwrap.dedent(text).strip() + "\n", file, "exec"), self.names)
        return file

    def __call__(self, expression: str) -> Any:
        """The value of an expression; the same code each time, so that nothing is compiled again on its account."""
        if expression not in self.asked:
            file = f"<{self.module.__name__}, expression {len(self.asked) + 1}>"
            self.asked[expression] = self.compiled(expression + "\n", file, "eval")
        return eval(self.asked[expression], self.names)

    @staticmethod
    def compiled(text: str, file: str, mode: str) -> Any:
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        return compile(text, file, mode)

    def text(self, file: str) -> str:
        return "".join(linecache.getlines(file))

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    name = f"notebook_{next(counter)}"
    book = Notebook(name)
    sys.modules[name] = book.module
    yield book
    del sys.modules[name]


@pytest.fixture(autouse=True)
def clean_registry() -> Iterator[None]:
    before = registry.rules()
    yield
    for rule in registry.rules():
        if rule not in before:
            registry.remove(rule)
    forget_cells()
