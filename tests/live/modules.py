"""Real modules in a folder, imported, saved again and executed again."""
from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from zad_jupyter.live.execute import Batch
from zad_jupyter.live.report import Patched

RULES = """\
from zad_jupyter import rrule

def cube(x):
    return x * x * x

@rrule(cube)
def _(x: float):
    return cube(x), lambda ybar: {} * ybar
"""


def rules(factor: float) -> str:
    """A module with a rule by which the slope of `cube` is this factor."""
    return RULES.format(factor)


class Modules:
    """The modules of a temporary folder that is on `sys.path` as long as a test runs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        self.old: dict[str, bytes] = {}

    def save(self, name: str, text: str | bytes) -> Path:
        path = self.folder.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        importlib.invalidate_caches()
        return path

    def write(self, name: str, text: str | bytes) -> ModuleType:
        """Save a module and import it."""
        self.old[name] = self.save(name, text).read_bytes()
        return importlib.import_module(name)

    def run(self, batch: Batch, module: ModuleType, text: str | bytes, **others: str) -> None:
        """Save a module's new text (and other files), and execute it on trial."""
        for name, other in others.items():
            self.save(name, other)
        source = self.save(module.__name__, text).read_bytes()
        batch.execute(module, source, str(module.__file__), self.old[module.__name__])

    def edit(self, module: ModuleType, text: str | bytes) -> Patched:
        """Save a module's new text, execute it, and commit."""
        with Batch() as batch:
            self.run(batch, module, text)
            return batch.commit()[0]

    def forget(self) -> None:
        """Take the folder's modules out of `sys.modules`."""
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(self.folder)):
                del sys.modules[name]
        for name in [name for name in sys.modules if name == "pkg" or name.startswith("pkg.")]:
            del sys.modules[name]
