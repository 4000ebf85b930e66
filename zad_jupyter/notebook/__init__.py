"""The IPython extension: ``%load_ext zad_jupyter``.

`extension` puts everything into a shell and takes it out again; `rule_cell` is ``%%rrule``, `zad` is ``%zad``, `cells`
knows which cell is which, `panel` is the kernel's end of the JupyterLab panel.
"""

from __future__ import annotations

import weakref
from typing import Any

from zad_jupyter.notebook.extension import Extension

_loaded: weakref.WeakKeyDictionary[Any, Extension] = weakref.WeakKeyDictionary()


def load_ipython_extension(shell: Any) -> None:
    """Load zad into an IPython shell; a shell that has it keeps what it has."""
    if shell not in _loaded:
        extension = Extension(shell)
        extension.start()
        _loaded[shell] = extension


def unload_ipython_extension(shell: Any) -> None:
    """Take zad out of an IPython shell; nothing is left behind but the rules, which are the person's."""
    extension = _loaded.pop(shell, None)
    if extension is not None:
        extension.stop()
