"""Each test leaves the registry as it found it; `notebook` runs cells as a notebook does."""
import itertools
import linecache
import sys
import textwrap
import types
import warnings

import pytest

from zad_jupyter.rules import forget_cells, register_cell, registry

_counter = itertools.count()


@pytest.fixture(autouse=True)
def clean_registry():
    before = registry.rules()
    yield
    for rule in registry.rules():
        if rule not in before:
            registry.remove(rule)
    forget_cells()


class Notebook:
    """Cells that are compiled under a name of their own, registered, and executed in one module."""

    def __init__(self, name):
        self.module = types.ModuleType(name)
        self.names = self.module.__dict__
        self.names["registry"] = registry
        exec("from zad_jupyter.rules import *", self.names)

    def run(self, number, text, cell_id="auto", transaction=False):
        """Run a cell; `cell_id` None is a front end that sends none."""
        text = textwrap.dedent(text).lstrip("\n")
        filename = f"<{self.module.__name__}-cell-{next(_counter)}>"
        linecache.cache[filename] = len(text), None, text.splitlines(True), filename
        register_cell(filename, f"cell {number}", f"id-{number}" if cell_id == "auto" else cell_id)
        code = compile(text, filename, "exec")
        if transaction:
            from zad_jupyter.rules.places import owner_of_file
            with registry.transaction(owner_of_file(filename)):
                exec(code, self.names)
        else:
            exec(code, self.names)

    def __getitem__(self, name):
        return self.names[name]


@pytest.fixture
def notebook():
    name = f"notebook{next(_counter)}"
    book = Notebook(name)
    sys.modules[name] = book.module
    yield book
    del sys.modules[name]


@pytest.fixture
def changes():
    seen = []
    unsubscribe = registry.subscribe(seen.append)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)      # a subscriber that fails fails the test
        yield seen
    unsubscribe()
