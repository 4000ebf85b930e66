"""Loading twice does nothing twice, and unloading leaves nothing behind."""

import threading

from zad_jupyter import notebook
from zad_jupyter.rules import places, registry


def traces(shell):
    """Everything in a shell, and in us, that the extension touches."""
    return {
        "line": dict(shell.magics_manager.magics["line"]),
        "cell": dict(shell.magics_manager.magics["cell"]),
        "hooks": {event: list(callbacks) for event, callbacks in shell.events.callbacks.items()},
        "matchers": list(shell.Completer.custom_matchers),
        "formatters": {
            kind: dict(formatter.type_printers) for kind, formatter in shell.display_formatter.formatters.items()
        },
        "exceptions": (shell.custom_exceptions, getattr(shell, "CustomTB", None)),
        "transformers": (list(shell.input_transformers_post), list(shell.ast_transformers)),
        "names": {name for name in shell.user_ns if not name.startswith("_")},
        "subscribers": len(registry._subscribers),
        "cells": dict(places._cells),
        "threads": set(threading.enumerate()),
    }


def test_unloading_leaves_nothing_behind(bare):
    before = traces(bare.shell)
    notebook.load_ipython_extension(bare.shell)
    assert traces(bare.shell) != before
    bare.ok("%zad help")
    notebook.unload_ipython_extension(bare.shell)
    after = traces(bare.shell)
    assert {key for key in before if before[key] != after[key]} == set()


def test_loading_twice_does_nothing_twice(bare):
    notebook.load_ipython_extension(bare.shell)
    once = traces(bare.shell)
    notebook.load_ipython_extension(bare.shell)
    assert traces(bare.shell) == once


def test_unloading_twice_is_unloading(bare):
    before = traces(bare.shell)
    notebook.load_ipython_extension(bare.shell)
    notebook.unload_ipython_extension(bare.shell)
    notebook.unload_ipython_extension(bare.shell)
    assert traces(bare.shell) == before


def test_a_magic_of_the_persons_own_comes_back(bare):
    bare.shell.register_magic_function(lambda line: "mine", "line", "zad")
    notebook.load_ipython_extension(bare.shell)
    notebook.unload_ipython_extension(bare.shell)
    assert bare.ok("%zad").value == "mine"


def test_rules_stay_when_the_extension_goes(nb):
    nb.ok("%%rrule det\ndef _(a: Tri): return None")
    notebook.unload_ipython_extension(nb.shell)
    assert len(registry.rules(nb["det"])) == 1


def test_the_magics_are_the_shells_own_commands(bare):
    bare.ok("%load_ext zad_jupyter")
    assert "which rule" in bare.ok("%zad help").out
    bare.ok("%reload_ext zad_jupyter")
    assert len(bare.shell.Completer.custom_matchers) == 1
    bare.ok("%unload_ext zad_jupyter")
    assert bare("%zad help").error is not None
    bare.ok("%load_ext zad_jupyter")
    bare.ok("%zad help")
