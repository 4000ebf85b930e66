"""A module's new text is executed as a whole or not at all, and leaves what a fresh import would leave."""
from __future__ import annotations

import importlib
import os
import sys
import traceback

import pytest

from tests.live.modules import Modules
from zad_jupyter.live.execute import Batch, bound_names, execute


@pytest.mark.parametrize(("broken", "error"), [
    ("def f(: pass\n", SyntaxError),
    ("x = 2\ny = 1\ndef f(): return 2\ng = 1\ndel g\n1 / 0\n", ZeroDivisionError),
    ("x = 2\nraise KeyboardInterrupt\n", KeyboardInterrupt),
    ("x: str = ''\nraise SystemExit\n", SystemExit),
    ("import sys\ndel sys.modules[__name__]\n'a' + 1\n", TypeError),
    ("import sys\nsys.modules[__name__] = 3\n'a' + 1\n", TypeError),
    (b"x = '\xff'\n", SyntaxError),
    ("x = '\0'\n", (SyntaxError, ValueError)),
])
def test_any_error_leaves_the_module_as_it_was(modules: Modules, broken: str | bytes,
                                                error: type[BaseException]) -> None:
    m = modules.write("m", "'Doc.'\nx: int = 1\ndef g(): return 3\ndef f(): return 1\nclass C: pass\n")
    before, annotations = dict(vars(m)), dict(m.__annotations__)
    with pytest.raises(error):
        modules.edit(m, broken)
    assert list(vars(m)) == list(before)
    assert all(vars(m)[name] is value for name, value in before.items())
    assert m.__annotations__ == annotations
    assert sys.modules["m"] is m
    assert not m.__spec__ or not m.__spec__._initializing  # type: ignore[attr-defined]


def test_ctrl_c_while_the_text_runs_leaves_the_module_as_it_was(modules: Modules) -> None:
    m = modules.write("m", "x = 1\ny = 1\n")
    with pytest.raises(KeyboardInterrupt):
        modules.edit(m, "import os, signal, time\nx = 2\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(20)\n")
    assert (m.x, m.y, hasattr(m, "os")) == (1, 1, False)


def test_ctrl_c_while_it_is_patched_comes_when_all_is_patched(modules: Modules) -> None:
    text = ("import os, signal\nclass Press:\n    def __eq__(self, other): os.kill(os.getpid(), signal.SIGINT)\n"
            "press = Press()\ndef f(): return {}\n")
    m = modules.write("m", text.format(1))
    f = m.f
    with pytest.raises(KeyboardInterrupt):
        modules.edit(m, text.format(2))
    assert (m.f, f()) == (f, 2)


def test_after_an_error_the_next_text_is_taken(modules: Modules) -> None:
    m = modules.write("m", "def f(): return 1\ndef g(): return 1\n")
    f = m.f
    with pytest.raises(NameError):
        modules.edit(m, "def f(): return 2\noops\n")
    report = modules.edit(m, "def f(): return 3\n")
    assert (m.f, f()) == (f, 3)
    assert report.removed == ["g"]


def test_a_batch_goes_back_as_a_whole(modules: Modules) -> None:
    a, b = modules.write("a", "def f(): return 1\n"), modules.write("b", "from a import f\n")
    before = dict(vars(a)), dict(vars(b))

    def edit_both() -> None:
        with Batch() as batch:
            modules.run(batch, a, "def f(): return 2\ndef new(): pass\n")
            assert a.f() == 2
            modules.run(batch, b, "from a import f\nimport fresh\nimport unrelated\n1 / 0\n",
                        fresh="from a import f\n", unrelated="x = 1\n")

    with pytest.raises(ZeroDivisionError):
        edit_both()
    assert (vars(a), vars(b)) == before
    assert "fresh" not in sys.modules          # it holds a function that is no more
    assert "unrelated" in sys.modules
    assert b.f is a.f
    assert a.f() == 1


def test_a_batch_that_is_not_committed_goes_back(modules: Modules) -> None:
    m = modules.write("m", "def f(): return 1\n")
    with Batch() as batch:
        modules.run(batch, m, "def f(): return 2\n")
    assert m.f() == 1
    batch = execute(m, "def f(): return 3\n", str(m.__file__))
    assert m.f() == 3
    batch.rollback()
    assert m.f() == 1
    batch.rollback()
    assert m.f() == 1


def test_an_error_that_is_caught_inside_a_batch_commits_nothing(modules: Modules) -> None:
    a, b = modules.write("a", "x = 1\n"), modules.write("b", "x = 1\n")
    with Batch() as batch:
        modules.run(batch, a, "x = 2\n")
        with pytest.raises(ZeroDivisionError):
            modules.run(batch, b, "x = 2\n1 / 0\n")
        assert batch.commit() == []
    assert (a.x, b.x) == (1, 1)


def test_a_module_executed_twice_in_a_batch_has_the_last_text(modules: Modules) -> None:
    m = modules.write("m", "def f(): return 1\ndef g(): return 1\n")
    f = m.f
    with Batch() as batch:
        modules.run(batch, m, "def f(): return 2\ndef g(): return 1\n")
        modules.run(batch, m, "def f(): return 3\n")
        reports = batch.commit()
    assert (m.f, f(), hasattr(m, "g"), len(reports)) == (f, 3, False, 1)
    with Batch() as batch:
        modules.run(batch, m, "def f(): return 4\n")
        modules.run(batch, m, "def f(): return 5\n")
    assert (m.f, f()) == (f, 3)


def test_names_that_the_new_text_does_not_bind_go(modules: Modules) -> None:
    m = modules.write("m", "import os, os.path as p\nfrom math import sin as s, cos\nx = y = 1\na: int = 2\n"
                           "(t, [u]) = 1, [2]\ndef f(): pass\nclass C: pass\nif True:\n    i = 1\n"
                           "for k in [1]: pass\nwith open(__file__) as w: pass\ntry: 1/0\n"
                           "except ZeroDivisionError: e = 1\nprint((v := 3), end='')\nstays = 1\n")
    m.set_from_outside = 5                                  # type: ignore[attr-defined]
    report = modules.edit(m, "stays = 2\n")
    assert {name for name in vars(m) if not name.startswith("__")} == {"stays", "set_from_outside"}
    assert sorted(report.removed) == sorted("os p s cos x y a t u f C i k w e v".split())
    assert modules.edit(m, "").removed == ["stays"]         # from the second time on, without the old text


def test_names_of_star_imports_and_of_globals_stay(modules: Modules) -> None:
    modules.write("star", "a = 1\n")
    m = modules.write("m", "from star import *\nglobals()['b'] = 2\ndef f():\n    global c\n    c = 3\nf()\n")
    modules.edit(m, "x = 1\n")
    assert (m.a, m.b, m.c, hasattr(m, "f")) == (1, 2, 3, False)


def test_a_name_moves_from_plain_text_to_a_star_import(modules: Modules) -> None:
    modules.write("star", "a = 1\ndef f(): return 'star'\n")
    m = modules.write("m", "a = 5\ndef f(): return 'own'\n")
    report = modules.edit(m, "from star import *\n")
    assert (m.a, m.f(), report.removed) == (1, "star", [])


def test_the_new_text_cannot_lean_on_a_name_that_it_no_longer_binds(modules: Modules) -> None:
    m = modules.write("m", "def helper(): return 1\nx = helper()\n")
    with pytest.raises(NameError, match="helper"):
        modules.edit(m, "x = helper()\n")
    assert m.helper() == 1


def test_a_name_that_is_bound_only_if_it_is_missing_keeps_its_value(modules: Modules) -> None:
    text = "try:\n    cache\nexcept NameError:\n    cache = {{}}\nk = {}\n"
    m = modules.write("m", text.format(1))
    m.cache["a"] = 1
    modules.edit(m, text.format(2))
    assert m.cache == {"a": 1}


def test_docstring_and_annotations_of_the_module_follow(modules: Modules) -> None:
    m = modules.write("m", "'Doc.'\nx: int = 1\n")
    report = modules.edit(m, "y: str = ''\n")
    assert (m.__doc__, m.__annotations__) == (None, {"y": str})
    modules.edit(m, "'New.'\n")
    assert (m.__doc__, m.__annotations__) == ("New.", {})
    assert (report.added, report.removed, report.changed) == (["y"], ["x"], [])


def test_submodules_stay_when_a_package_no_longer_names_them(modules: Modules) -> None:
    text = "from . import sub\nfrom .sub import x\n"
    modules.save("pkg.__init__", text)
    modules.save("pkg.sub", "x = 1\n")
    pkg = importlib.import_module("pkg")
    report = execute(pkg, "", str(pkg.__file__), text).commit()[0]
    assert pkg.sub is sys.modules["pkg.sub"]
    assert report.removed == ["x"]


def test_encodings_are_read_as_python_reads_them(modules: Modules) -> None:
    m = modules.write("m", "x = ''\n")
    modules.edit(m, "# -*- coding: latin-1 -*-\nx = 'é'\nnamé = 1\n".encode("latin-1"))
    assert (m.x, m.namé) == ("é", 1)
    modules.edit(m, b"\xef\xbb\xbfx = '\xc3\xbc'\r\ny = 1\r\n")
    assert (m.x, m.y, hasattr(m, "namé")) == ("ü", 1, False)


def test_a_future_import_of_ours_is_none_of_the_modules(modules: Modules) -> None:
    m = modules.write("m", "def f(x: int): pass\n")
    modules.edit(m, "def f(x: float): pass\n")
    assert m.f.__annotations__ == {"x": float}


def test_a_traceback_shows_the_line_of_the_file_as_it_is_now(modules: Modules) -> None:
    m = modules.write("m", "def f():\n    return 1 / 0  # old\n")
    with pytest.raises(ZeroDivisionError) as info:
        m.f()
    assert "# old" in "".join(traceback.format_exception(info.value))
    times = os.stat(str(m.__file__))
    text = "def f():\n    return 0 / 0  # new\n"            # of equal size, and the time set back
    modules.save("m", text)
    os.utime(str(m.__file__), ns=(times.st_atime_ns, times.st_mtime_ns))
    execute(m, text, str(m.__file__)).commit()
    with pytest.raises(ZeroDivisionError) as info:
        m.f()
    assert "# new" in "".join(traceback.format_exception(info.value))
    with pytest.raises(NameError) as error:
        modules.edit(m, "\n\noops  # broken\n")
    assert "# broken" in "".join(traceback.format_exception(error.value))


def test_a_circular_import_sees_a_module_that_is_being_executed(modules: Modules) -> None:
    m = modules.write("m", "x = 1\n")
    modules.save("back", "import m\nassert m.__spec__._initializing\nseen = m.x\n")
    modules.edit(m, "x = 2\nimport back\n")
    assert sys.modules["back"].seen == 2
    assert not m.__spec__._initializing  # type: ignore[union-attr]


@pytest.mark.parametrize(("text", "names"), [
    ("if (n := 1):\n    a = 1\nelse:\n    b = 2\n", "a b n"),
    ("match p:\n    case {'k': v, **rest}: pass\n    case [x, *xs]: pass\n", "rest v x xs"),
    ("def f():\n    inner = 1\n    global g\n    g = 1\nlambda: (w := 1)\n[i for i in y]\n", "f"),
    ("class C:\n    a = 1\n", "C"),
    ("[(last := i) for i in y]\nx: int\nz: int = 1\n", "last z"),
    ("import a.b, c.d as e\nfrom . import h\nfrom x import *\n", "a e h"),
    ("async def f(): pass\nx[0] = y.z = 1\nx += 1\n", "f x"),
])
def test_the_names_that_a_text_binds(text: str, names: str) -> None:
    assert " ".join(sorted(bound_names(compile(text, "m.py", "exec")))) == names
