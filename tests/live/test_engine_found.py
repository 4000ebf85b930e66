"""What a stranger found wrong in following files, and the right answers: what a fresh process would give."""

from __future__ import annotations

import threading
import traceback
from pathlib import Path

import pytest

from tests.live.modules import RULES
from zad_jupyter import gradient


def test_an_array_of_the_module_that_changes_is_no_obstacle(live, modules):
    text = "import numpy as np\nW = np.array([1.0, 2.0, {}])\ndef f(x):\n    return {} * x\n"
    module = modules.write("arrays", text.format(3.0, 2.0))
    live.check("cell")
    assert gradient(module.f, 1.0) == (2.0,)
    modules.save("arrays", text.format(4.0, 3.0))
    assert gradient(module.f, 1.0) == (3.0,)


def test_what_is_in_force_can_be_compiled_whatever_the_file_says(live, modules):
    text = RULES + "def g(x):\n    return 3.0 * x\n"
    module = modules.write("standing", text.format(1.0))
    live.check("cell")
    modules.save("standing", "# one\n# two\n" + text.format(2.0) + "(")
    assert gradient(module.g, 1.0) == (3.0,)
    assert gradient(module.cube, 1.0) == (1.0,)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(x):\n    return 2.0 * x\n", "from impl import f\n"),
        (
            "def f(x):\n    return 2.0 * x\n",
            "def more(g):\n    return lambda x: 1.5 * g(x)\n@more\ndef f(x):\n    return 2.0 * x\n",
        ),
        ("import other as f\n", "import impl as f\n"),
    ],
    ids=["moved to another module", "decorated", "another module"],
)  # fmt: skip
def test_who_imported_what_cannot_be_changed_in_place_means_the_new_one(live, modules, before, after):
    modules.write("impl", "def f(x):\n    return 3.0 * x\ndef g(x):\n    return 3.0 * x\n")
    modules.write("other", "def g(x):\n    return 2.0 * x\n")
    modules.write("base", before)
    call = "f.g(x)" if "import other" in before else "f(x)"
    user = modules.write("user_of_base", f"from base import f\ndef loss(x):\n    return {call}\n")
    live.check("cell")
    assert gradient(user.loss, 1.0) == (2.0,)
    modules.save("base", after)
    assert gradient(user.loss, 1.0) == (3.0,)


def test_a_rule_follows_a_function_that_was_replaced(live, modules):
    text = "import functools\ndef deco(g):\n    @functools.wraps(g)\n    def inner(x): return g(x)\n    return inner\n"
    module = modules.write("target", text + "def f(x):\n    return x * x\n")
    modules.write("its_rules", "from target import f\nfrom zad_jupyter import rrule\n@rrule(f)\ndef _(x: float):\n"
                  "    return f(x), lambda y: 50.0 * y\n")  # fmt: skip
    assert gradient(module.f, 1.0) == (50.0,)
    modules.save("target", text + "@deco\ndef f(x):\n    return x * x\n")
    assert gradient(module.f, 1.0) == (50.0,)


def test_members_of_an_enum_stay_what_they_are_when_the_enum_only_moves(live, modules):
    text = "import enum\nclass E(enum.Enum):\n    A = 1\ndef f(x, e):\n    return 100.0 * x if e is E.A else x\n"
    module = modules.write("enums", text)
    live.check("cell")
    member = module.E.A
    f = lambda x: module.f(x, member)
    assert gradient(f, 1.0) == (100.0,)
    modules.save("enums", "# a remark\n" + text)
    assert gradient(f, 1.0) == (100.0,)
    assert module.E.A is member


def test_rules_of_a_module_that_was_first_imported_by_a_failing_one_are_not_lost(live, modules):
    module = modules.write("first", RULES.format(1.0))
    assert gradient(module.cube, 2.0) == (1.0,)
    modules.save("second", "from zad_jupyter import rrule\ndef g(x):\n    return x * x\n@rrule(g)\ndef _(x: float):\n"
                 "    return g(x), lambda y: 100.0 * y\n")  # fmt: skip
    modules.save("first", "import second\n" + RULES.format(2.0) + "1 / 0\n")
    assert gradient(module.cube, 2.0) == (1.0,)
    modules.save("first", "import second\n" + RULES.format(3.0))
    assert gradient(module.cube, 2.0) == (3.0,)
    assert gradient(module.second.g, 2.0) == (100.0,)


def test_a_file_that_is_broken_holds_up_no_later_edit_of_another(live, modules):
    modules.write("broken", "x = 1\n")
    module = modules.write("sound", RULES.format(1.0))
    live.check("cell")
    modules.save("broken", "x = (\n")
    live.before_cell()
    live.after_cell()
    modules.save("sound", RULES.format(2.0))
    assert gradient(module.cube, 2.0) == (2.0,)
    assert [line.split(":")[0] for line in live.standing()] == ["running rules differ from broken.py"]


def test_a_file_that_was_held_up_is_loaded_when_the_other_is_put_back(live, modules):
    one, two = modules.write("one", RULES.format(1.0)), modules.write("two", RULES.format(1.0))
    assert (gradient(one.cube, 2.0), gradient(two.cube, 2.0)) == ((1.0,), (1.0,))
    modules.save("one", RULES.format(2.0) + "(")
    modules.save("two", RULES.format(2.0))
    assert gradient(two.cube, 2.0) == (1.0,)
    modules.save("one", RULES.format(1.0))
    assert (gradient(two.cube, 2.0), live.standing()) == ((2.0,), [])


def test_an_error_in_a_rule_shows_the_line_where_it_stands_now(live, modules):
    text = ("from zad_jupyter import rrule\ndef f(x): return x\n@rrule(f)\ndef _(x: float):\n    def pull(y):\n"
            "        raise ValueError('told')\n    return f(x), pull\n")  # fmt: skip
    module = modules.write("raising", text)
    live.check("cell")
    for remarks in (0, 3, 1):
        modules.save("raising", "# remark\n" * remarks + text)
        with pytest.raises(ValueError, match="told") as caught:
            gradient(module.f, 2.0)
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert [f.lineno for f in frames if Path(f.filename).name == "raising.py"][-1] == 6 + remarks


def test_a_file_may_be_named_in_another_way_and_folders_get_new_files(live, modules, tmp_path_factory, monkeypatch):
    far = tmp_path_factory.mktemp("far")
    (far / "there").mkdir()
    monkeypatch.syspath_prepend(str(far / "there" / ".." / "there"))
    (far / "there" / "spelled.py").write_text("def f(x):\n    return 2.0 * x\n")
    spelled = __import__("spelled")
    live.watch(str(far / "there"))
    assert gradient(spelled.f, 1.0) == (2.0,)
    (far / "there" / "spelled.py").write_text("def f(x):\n    return 3.0 * x\n")
    assert gradient(spelled.f, 1.0) == (3.0,)
    (far / "there" / "later.py").write_text("def f(x):\n    return 2.0 * x\n")
    later = __import__("later")
    live.check("cell")
    (far / "there" / "later.py").write_text("def f(x):\n    return 3.0 * x\n")
    assert gradient(later.f, 1.0) == (3.0,)


def test_what_is_not_to_be_followed_stays_so(live, modules):
    one, two = modules.write("one", RULES.format(1.0)), modules.write("two", RULES.format(1.0))
    gradient(one.cube, 2.0)
    live.unwatch(str(one.__file__))
    modules.save("one", RULES.format(5.0))
    modules.save("two", RULES.format(2.0) + "@rrule(len)\ndef _(x: float): return 1, lambda y: y\n")
    for _ in range(2):
        assert (gradient(two.cube, 2.0), gradient(one.cube, 2.0)) == ((2.0,), (1.0,))


def test_threads_that_take_gradients_while_files_are_loaded(live, modules):
    module = modules.write("threaded", RULES.format(1.0))
    gradient(module.cube, 2.0)
    wrong: list[object] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                value = gradient(module.cube, 2.0)[0]
                if value not in range(20):
                    wrong.append(value)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for factor in range(20):
        modules.save("threaded", RULES.format(float(factor)))
        live.check("cell")
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_pages_and_encodings_shift_no_line(live, modules, encoding):
    text = f"# -*- coding: {encoding} -*-\n# é \x0c a new page\n\x0c\ndef f(x):\n    return {{}} * x / (x - 2.0)\n"
    module = modules.write("pages", text.format(4.0).encode(encoding))
    live.check("cell")
    modules.save("pages", text.format(5.0).encode(encoding))
    assert gradient(module.f, 4.0) == (5.0 / 2.0 - 20.0 / 4.0,)
    modules.save("pages", (text.format(6.0) + "(").encode(encoding))
    with pytest.raises(ZeroDivisionError) as caught:
        gradient(lambda x: module.f(x), 2.0)
    assert caught.traceback[-1].lineno + 1 == 5
