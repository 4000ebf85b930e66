"""Files beside a notebook are followed from cell to cell, with words where something changed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from IPython.core.error import UsageError

from tests.live.modules import rules
from tests.notebook.kernel import running_kernel


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The notebook's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def page(folder, bare):
    """A shell with the extension, loaded in that folder."""
    bare.ok("%load_ext zad_jupyter\nfrom zad_jupyter import gradient, registry")
    return bare


def test_a_cell_after_an_edit_has_the_new_rule_and_says_what_became_of_it(page, folder):
    (folder / "my_rules.py").write_text(rules(1.0))
    page.ok("from my_rules import cube")
    assert page.ok("gradient(cube, 2.0)").value == (1.0,)
    (folder / "my_rules.py").write_text(rules(2.0))
    ran = page.ok("gradient(cube, 2.0)")
    assert ran.value == (2.0,)
    assert "zad: loaded my_rules.py: edit of rule cube(x: float) at my_rules.py:6 → dropped 1 of" in ran.out
    assert page.ok("gradient(cube, 2.0)").out.count("zad:") == 0


def test_writefile_in_one_cell_and_a_gradient_in_the_next(page, folder):
    page.ok("%%writefile written.py\n" + rules(1.0))
    page.ok("import written")
    assert page.ok("gradient(written.cube, 2.0)").value == (1.0,)
    page.ok("%%writefile written.py\n" + rules(3.0))
    assert page.ok("gradient(written.cube, 2.0)").value == (3.0,)


def test_an_edit_and_a_gradient_in_one_cell(page, folder):
    (folder / "inside.py").write_text(rules(1.0))
    page.ok("import inside, pathlib")
    page.ok("before = gradient(inside.cube, 2.0)")
    page.ok(f"pathlib.Path('inside.py').write_text({rules(4.0)!r})\nafter = gradient(inside.cube, 2.0)")
    assert (page["before"], page["after"]) == ((1.0,), (4.0,))


def test_a_helper_module_without_rules_is_followed(page, folder):
    (folder / "helper_module.py").write_text("def f(x):\n    return 2.0 * x\n")
    page.ok("from helper_module import f")
    assert page.ok("gradient(f, 1.0)").value == (2.0,)
    (folder / "helper_module.py").write_text("def f(x):\n    return 3.0 * x\n")
    ran = page.ok("gradient(f, 1.0)")
    assert ran.value == (3.0,)
    assert "zad: loaded helper_module.py: edited f → dropped 1 of" in ran.out


def test_a_broken_file_is_told_under_each_gradient_until_it_is_mended(page, folder):
    (folder / "breaks.py").write_text(rules(1.0))
    page.ok("import breaks")
    assert page.ok("gradient(breaks.cube, 2.0)").value == (1.0,)
    (folder / "breaks.py").write_text(rules(2.0) + "\nx = (\n")
    for _ in range(2):
        ran = page.ok("gradient(breaks.cube, 2.0)")
        assert ran.value == (1.0,)
        assert "zad: running rules differ from breaks.py: SyntaxError, line 10, since " in ran.out
    assert "zad:" not in page.ok("1 + 1").out
    assert "running rules differ from breaks.py" in page.ok("%zad rules").out
    assert "running rules differ from breaks.py" in page.ok("%zad changes").out
    (folder / "breaks.py").write_text(rules(3.0))
    assert page.ok("gradient(breaks.cube, 2.0)").value == (3.0,)
    assert "differ" not in page.ok("gradient(breaks.cube, 2.0)").out


def test_a_class_that_cannot_be_changed_in_place_is_named_and_its_name_bound_anew(page, folder):
    (folder / "colours.py").write_text("import enum\nclass Colour(enum.Enum):\n    red = 1\n")
    page.ok("from colours import Colour")
    page.ok("1")
    (folder / "colours.py").write_text("import enum\nclass Colour(enum.Enum):\n    red = 1\n    blue = 2\n")
    assert page.ok("Colour.blue.value").value == 2
    assert "Colour: the members of an enum are fixed when it is made" in page.ok("%zad changes").out


def test_watch_names_what_is_watched_and_unwatch_ends_it(page, folder, tmp_path_factory, monkeypatch):
    far = tmp_path_factory.mktemp("far away")
    monkeypatch.syspath_prepend(str(far))
    (far / "distant.py").write_text("def f(x):\n    return 2.0 * x\n")
    page.ok("import distant")
    assert "no file is watched" in page.ok("%zad watch").out
    assert "watching distant.py" in page.ok(f"%zad watch '{far}/distant.py'  # from afar").out
    assert str(far / "distant.py") in page.ok("%zad watch").out
    (far / "distant.py").write_text("def f(x):\n    return 3.0 * x\n")
    assert page.ok("gradient(distant.f, 1.0)").value == (3.0,)
    assert "not watching distant.py any more" in page.ok(f"%zad unwatch {far}").out
    for wrong in ("%zad watch nothing.py", "%zad unwatch nothing.py", "%zad unwatch", "%zad changes x"):
        assert isinstance(page(wrong).error, UsageError)
    del sys.modules["distant"]


def test_changes_puts_what_dropped_most_last(page):
    page.ok("def f(x): return x * x\ndef g(x): return f(x)\ndef h(x): return x")
    page.ok("gradient(f, 1.0), gradient(g, 1.0), gradient(h, 1.0)")
    page.ok("%%rrule f\ndef _(x: float): return f(x), lambda ybar: 1.0 * ybar")
    page.ok("%%rrule h\ndef _(x: str): return h(x), lambda ybar: 1.0 * ybar")
    out = page.ok("%zad changes").out
    assert out.index("added rule h(x: str)") < out.index("added rule f(x: float)")
    assert "dropped g ← f" in out
    assert out.rstrip().splitlines()[-1].lstrip().startswith("└─ dropped")


@pytest.mark.parametrize("first", ["zad", "autoreload"])
def test_peace_with_autoreload_in_both_orders(folder, bare, first):
    page = bare
    loads = ["%load_ext zad_jupyter", "%load_ext autoreload\n%autoreload 2"]
    for line in loads if first == "zad" else loads[::-1]:
        page.ok(line)
    page.ok("from zad_jupyter import gradient")
    name = f"peace_{first}"
    (folder / f"{name}.py").write_text("runs = globals().get('runs', 0) + 1\n" + rules(1.0))
    page.ok(f"import {name}\nfrom {name} import cube")
    for factor in (2.0, 3.0):
        time.sleep(0.01)
        (folder / f"{name}.py").write_text("runs = globals().get('runs', 0) + 1\n" + rules(factor))
        assert page.ok("gradient(cube, 2.0)").value == (factor,)
        assert page.ok(f"gradient({name}.cube, 2.0)").value == (factor,)
    assert sys.modules[name].runs == 3
    reloader = page.shell.magics_manager.registry["AutoreloadMagics"]._reloader
    assert name in reloader.skip_modules
    page.ok("%unload_ext zad_jupyter")
    assert name not in reloader.skip_modules


def test_unloading_ends_every_thread_and_watches_nothing_any_more(page, folder):
    import threading

    (folder / "ends.py").write_text(rules(1.0))
    page.ok("import ends")
    page.ok("gradient(ends.cube, 2.0)")
    before = {thread for thread in threading.enumerate() if thread.name.startswith("zad-")}
    assert before
    page.ok("%unload_ext zad_jupyter")
    assert [thread for thread in threading.enumerate() if thread.name.startswith("zad-")] == []
    (folder / "ends.py").write_text(rules(2.0))
    assert page.ok("gradient(ends.cube, 2.0)").value == (1.0,)
    page.ok("%load_ext zad_jupyter")
    assert page.ok("gradient(ends.cube, 2.0)").value == (2.0,)


def test_an_edit_arrives_in_an_idle_kernel_by_itself(tmp_path: Path):
    with running_kernel() as kernel:
        kernel.ok(f"import os, sys; os.chdir({str(tmp_path)!r}); sys.path.insert(0, {str(tmp_path)!r})")
        kernel.ok("%load_ext zad_jupyter\nfrom zad_jupyter import gradient, registry")
        (tmp_path / "idle_rules.py").write_text(rules(1.0))
        kernel.ok("import idle_rules")
        assert kernel.ok("gradient(idle_rules.cube, 2.0)") == "(1.0,)\n"
        (tmp_path / "idle_rules.py").write_text(rules(2.0))
        time.sleep(1.0)
        # No hook of ours runs before this: it is asked on the control channel, between cells.
        assert "loaded idle_rules.py" in kernel.ok("%zad changes")
        assert kernel.ok("registry.rules(idle_rules.cube)[0].function(1.0)[1](1.0)") == "2.0\n"


@pytest.mark.parametrize("text", ["raise KeyboardInterrupt\n", "import time\nfor _ in range(300): time.sleep(0.1)\n"])
def test_a_file_that_interrupts_or_hangs_an_idle_kernel_leaves_it_alive(tmp_path: Path, text: str):
    with running_kernel() as kernel:
        kernel.ok(f"import os, sys; os.chdir({str(tmp_path)!r}); sys.path.insert(0, {str(tmp_path)!r})")
        kernel.ok("%load_ext zad_jupyter\nfrom zad_jupyter import gradient")
        (tmp_path / "hanging.py").write_text(rules(1.0))
        kernel.ok("import hanging")
        kernel.ok("gradient(hanging.cube, 2.0)")
        (tmp_path / "hanging.py").write_text(rules(2.0) + text)
        time.sleep(1.0)
        kernel.interrupt()
        assert kernel.ok("gradient(hanging.cube, 2.0)").startswith("(1.0,)")
        assert "running rules differ from hanging.py: KeyboardInterrupt" in kernel.ok("%zad rules")


def test_an_interrupt_before_a_cell_does_not_take_its_rules_their_cell(page, folder):
    (folder / "interrupts.py").write_text(rules(1.0))
    page.ok("import interrupts\ngradient(interrupts.cube, 1.0)")
    (folder / "interrupts.py").write_text("raise KeyboardInterrupt\n")
    rule = "from zad_jupyter import rrule\ndef g(x): return x\n@rrule(g)\ndef _(x: float): return x, lambda y: 7 * y"
    page.ok(rule, "one")
    assert page.ok("[rule.owner.kind for rule in registry.rules(g)]").value == ["cell"]
