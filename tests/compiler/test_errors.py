"""What cannot be differentiated is refused, named; what the user's code raises is raised, with their own lines."""

from __future__ import annotations

import itertools
import math
import os
import textwrap
import traceback

import numpy as np
import pytest

import zad_jupyter
from zad_jupyter import grad, gradient, pullback, value_and_grad
from zad_jupyter.rules import NoRuleError, UnsupportedError

PACKAGE = os.path.dirname(zad_jupyter.__file__)

# ------------------------------------------------------------------------- supported, or refused: never a wrong number

CONSTRUCTS = {
    "item assignment": ("xs = [x, x]", "xs[0] = x * x", "return xs[0] * xs[1]"),
    "item assignment through an alias": ("xs = [x, x]", "ys = xs", "ys[0] = x * x", "return xs[0] * xs[1]"),
    "item assignment into an argument": ("put(table := [1.0, 1.0], x)", "return table[0] * table[1]"),
    "item assignment into a dict": ("d = {'a': x}", "d['b'] = x * x", "return d['a'] * d['b']"),
    "item assignment into an array": ("a = np.zeros(2)", "a[0] = x", "return a[0] * x * x"),
    "item assignment into a view": ("a = np.zeros(3)", "b = a[1:]", "b[0] = x", "return a[1] * x * x"),
    "augmented item": ("xs = [x, x]", "xs[0] *= x", "return xs[0] * xs[1]"),
    "augmented array": ("a = np.ones(2)", "a *= x", "return a[0] * x * x"),
    "augmented array, aliased": ("a = np.ones(2) * x", "b = a", "a *= x", "return b[0] * x"),
    "augmented list": ("xs = [x]", "xs += [x * x]", "return xs[0] * xs[1]"),
    "augmented list, aliased": ("xs = [x]", "ys = xs", "xs += [x * x]", "return ys[0] * ys[1]"),
    "extended list": ("xs = [x]", "xs.extend([x, x])", "return math.prod(xs)"),
    "list insert": ("xs = [x]", "xs.insert(0, x * x)", "return xs[0] * xs[1]"),
    "list pop": ("xs = [x, x * x * x]", "y = xs.pop()", "return y"),
    "list sorted in place": ("xs = [x * x * x, 1.0]", "xs.sort()", "return xs[1]"),
    "list reversed in place": ("xs = [x * x * x, 1.0]", "xs.reverse()", "return xs[1]"),
    "del of an item": ("xs = [x, x * x * x]", "del xs[0]", "return xs[0]"),
    "del of a name": ("y = x * x * x", "z = y", "del y", "return z"),
    "attribute assignment": ("box = Box()", "box.value = x * x * x", "return box.value"),
    "setattr": ("box = Box()", "setattr(box, 'value', x * x * x)", "return box.value"),
    "class with __init__": ("return Pair(x, x * x).product()",),
    "class inside": ("class Inner:", "    scale = 1.0", "return x * x * x * Inner.scale"),
    "with": ("with suppress(ValueError):", "    y = x * x * x", "return y"),
    "match": ("match x:", "    case 0.0:", "        return x", "    case _:", "        return x * x * x"),
    "nonlocal": ("y = x", "def more():", "    nonlocal y", "    y = y * x", "more()", "more()", "return y"),
    "global": ("global kept", "kept = x * x * x", "return kept"),
    "generator": ("def items():", "    yield x", "    yield x * x", "a, b = items()", "return a * b"),
    "yield from": ("def items():", "    yield from (x, x * x)", "return math.prod(items())"),
    "generator expression": ("return math.prod(t for t in (x, x * x))",),
    "set": ("return math.prod({x, x * x})",),
    "f-string": ("return float(f'{x}') * 0 + x * x * x",),
    "starred assignment": ("a, *b = [x, x, x]", "return a * b[0] * b[1]"),
    "star in a display": ("xs = [x, x]", "return math.prod([*xs, x])"),
    "walrus": ("return (y := x * x) * x + 0 * y",),
    "assert": ("assert x > 0, 'positive'", "return x * x * x"),
    "decorated inside": ("@doubled", "def g(t): return t * t * t / 2", "return g(x)"),
    "map": ("return math.prod(map(lambda t: t * x, [x, x])) / x",),
    "reduce": ("return functools.reduce(lambda a, b: a * b, [x, x, x])",),
    "partial": ("return functools.partial(lambda a, b: a * b, x * x)(x)",),
    "sorted": ("return sorted([x * x * x, 0.0], key=lambda t: -t)[0]",),
    "iter and next": ("it = iter([x, x * x])", "return next(it) * next(it)"),
    "getattr": ("return getattr(math, 'pow')(x, 3.0)",),
    "locals": ("y = x * x * x", "return locals()['y']"),
    "exec": ("d = {'x': x}", "exec('y = x * x * x', d)", "return d['y']"),
    "eval": ("return eval('x * x * x')",),
    "named tuple": ("p = Point(x, x * x)", "return p.a * p.b"),
    "data class": ("p = Data(x, x * x)", "return p.a * p.b"),
    "complex": ("return (complex(x, 0.0) ** 3).real",),
    "chained assignment": ("a = b = x", "return a * b * x"),
    "lru_cache": ("return cached(x)",),
    "super": ("return Child().value(x)",),
    "dict methods": ("d = {'a': x, 'b': x * x}", "return math.prod(list(d.values()))"),
    "dict items": ("p = 1.0", "for k, v in {'a': x, 'b': x * x}.items():", "    p = p * v", "return p"),
    "dict comprehension": ("d = {k: x ** k for k in (1, 2)}", "return d[1] * d[2]"),
    "dict update": ("d = {'a': x}", "d.update(b=x * x)", "return d['a'] * d['b']"),
    "list copied and appended": ("xs = [x]", "ys = xs.copy()", "ys.append(x * x)", "return math.prod(ys) * len(xs)"),
    "append after being shared": ("xs = []", "ys = xs", "xs.append(x)", "ys.append(x * x)", "return xs[0] * xs[1]"),
    "append in a tuple": ("t = ([],)", "t[0].append(x * x * x)", "return t[0][0]"),
    "append by a callee": ("xs = []", "push(xs, x * x * x)", "return xs[0]"),
    "append through a method": ("xs = []", "add = xs.append", "add(x * x * x)", "return xs[0]"),
    "out=": ("a = np.zeros(1)", "np.multiply(np.ones(1) * x, x * x, out=a)", "return a[0]"),
    "fill": ("a = np.zeros(2)", "a.fill(x * x * x)", "return a[0]"),
    "async": ("async def g(): return x", "g().close()", "return x * x * x"),
    "mutable default": ("return hoard(x) * x * x",),
}

SETTING = """
import functools
from collections import namedtuple
from contextlib import suppress
from dataclasses import dataclass

Point = namedtuple("Point", "a b")

@dataclass
class Data:
    a: float
    b: float

class Box:
    value = 0.0

class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b
    def product(self):
        return self.a * self.b

class Parent:
    def value(self, x): return x * x
class Child(Parent):
    def value(self, x): return super().value(x) * x

def put(xs, x):
    xs[0] = x * x * x

def push(xs, x):
    xs.append(x)

def doubled(f):
    return lambda x: 2 * f(x)

@functools.lru_cache
def cached(x):
    return x * x * x

def hoard(x, found=[]):
    found.append(x)
    return found[-1]
"""


FAILS = {"super": "super() without arguments: RuntimeError"}


def marked(name: str, fails: dict[str, str], *values: object) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=fails[name])] if name in fails else []
    return pytest.param(*(values or (name,)), id=name, marks=marks)


@pytest.mark.parametrize("name", [marked(name, FAILS) for name in CONSTRUCTS])
def test_a_construct_is_differentiated_or_refused(notebook, name: str) -> None:
    """Each of these functions is x**3; the derivative at 2 is 12 and the second 12."""
    notebook.run(SETTING)
    lines = CONSTRUCTS[name]
    notebook.run("def f(x):\n" + "\n".join("    " + line for line in lines))
    f = notebook["f"]
    assert f(2.0) == pytest.approx(8.0)
    told: list[Exception] = []
    for derivative, want in ((grad(f), 12.0), (lambda x: value_and_grad(f)(x)[1], 12.0), (grad(grad(f)), 12.0)):
        try:
            assert derivative(2.0) == pytest.approx(want)
        except (UnsupportedError, NoRuleError) as error:
            told.append(error)
    for error in told:
        in_message = "cell 1:" in str(error) or "cell 2:" in str(error)
        assert in_message or ("f", 2) <= lines_of(error)[0] <= ("f", len(lines) + 1)


UNSUPPORTED = {  # what is refused must be named: (lines, words that the message has, the line)
    "with": (("with open(x):", "    pass", "return x"), "with", 2),
    "match": (("y = x", "match x:", "    case _:", "        return x"), "match", 3),
    "yield": (("y = x", "yield y"), r"yield|generator", 1),
    "await": (("return x", "await x"), r"async|await|coroutine", 1),
    "class": (("class A:", "    y = x", "return A.y"), "class", 2),
    "attribute": (("x.y = x", "return x"), r"attribute|assign", 2),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_refused_is_named_with_its_place(notebook, name: str) -> None:
    lines, words, line = UNSUPPORTED[name]
    head = "async def f(x):\n" if name == "await" else "def f(x):\n"
    notebook.run(head + "\n".join("    " + text for text in lines))
    with pytest.raises(UnsupportedError, match=words) as caught:
        gradient(notebook["f"], 2.0)
    assert f"cell 1:{line}" in str(caught.value)
    assert "f" in str(caught.value)


def test_a_function_without_source_is_refused_by_name() -> None:
    names: dict[str, object] = {}
    exec("def hidden(x): return x * x", names)
    with pytest.raises((UnsupportedError, NoRuleError), match="hidden"):
        gradient(names["hidden"], 2.0)


def test_a_function_of_c_without_a_rule_is_refused_by_name(notebook) -> None:
    notebook.run("def f(x):\n    y = x * x\n    return math.lgamma(y)")
    with pytest.raises(NoRuleError, match="lgamma") as caught:
        gradient(notebook["f"], 2.0)
    assert lines_of(caught.value) == [("f", 3)]


def test_the_rule_that_an_error_suggests_is_python(notebook) -> None:
    notebook.run("def f(x): return math.lgamma(x)")
    with pytest.raises(NoRuleError, match="lgamma") as caught:
        gradient(notebook["f"], 2.0)
    text = str(caught.value)
    compile(textwrap.dedent(text[text.index("    @rrule") :]), "suggestion", "exec")


# ---------------------------------------------------------------------------------------- the errors of the user's code

def lines_of(error: BaseException) -> list[tuple[str, int]]:
    """(function, line) of all frames of a traceback below this file's own; the doors may stand before them."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [i for i, frame in enumerate(frames) if frame.filename == __file__]
    rest = list(itertools.dropwhile(lambda frame: frame.filename.startswith(PACKAGE), frames[mine[-1] + 1 :]))
    assert all(frame.filename.startswith("<notebook") for frame in rest), [frame.filename for frame in rest]
    return [(frame.name, frame.lineno or 0) for frame in rest]


WAYS = {
    "gradient": lambda f, x: gradient(f, x),
    "gradient again": lambda f, x: gradient(f, x),
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x),
    "pullback": lambda f, x: pullback(f, x)[1](1.0),
    "second derivative": lambda f, x: grad(grad(f))(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_error_shows_the_users_own_lines_and_no_others(notebook, way: str) -> None:
    notebook.run("""
        def inner(x):
            y = x - 1
            return math.log(y)

        def middle(x):
            return 2 * inner(x)

        def f(x):
            s = x
            return s * middle(x)
    """)
    f = notebook["f"]
    if way == "gradient again":
        assert gradient(f, 3.0)[0] == pytest.approx(2 * math.log(2.0) + 3.0)
    with pytest.raises(ValueError, match=r"math domain error|positive") as caught:
        WAYS[way](f, 0.5)
    assert lines_of(caught.value) == [("f", 10), ("middle", 6), ("inner", 3)]


@pytest.mark.parametrize("way", WAYS)
def test_lines_in_loops_branches_and_try(notebook, way: str) -> None:
    notebook.run("""
        def f(x):
            s = x
            for i in range(4):
                if i == 2:
                    s = s + (
                        1 / (x - 0.5)
                    )
                try:
                    s = s * 1.0
                except KeyError:
                    s = 0.0
            return s
    """)
    with pytest.raises(ZeroDivisionError) as caught:
        WAYS[way](notebook["f"], 0.5)
    assert lines_of(caught.value) == [("f", 6)]


@pytest.mark.parametrize("way", WAYS)
def test_an_error_raised_by_hand_is_the_same_object(notebook, way: str) -> None:
    notebook.run("""
        class Mine(Exception): pass
        mine = Mine("sorry")

        def check(x):
            if x > 1:
                raise mine
            return x

        def f(x):
            y = check(x)
            return y * y
    """)
    with pytest.raises(notebook["Mine"], match="sorry") as caught:
        WAYS[way](notebook["f"], 2.0)
    assert caught.value is notebook["mine"]
    assert lines_of(caught.value) == [("f", 10), ("check", 6)]


RAISES = [
    ("return math.log(-x) * 0", ValueError),
    ("math.log(-x)\n    return x * x", ValueError),
    ("y = math.sqrt(-x)\n    return x", ValueError),
    ("return x / (x - x)", ZeroDivisionError),
    ("y = 1 // 0\n    return x", ZeroDivisionError),
    ("return x * undefined_name", NameError),
    ("undefined_name\n    return x", NameError),
    ("if x < 0: y = x\n    return y * x", UnboundLocalError),
    ("for i in range(0): y = x\n    return y", UnboundLocalError),
    ("return [x, x][2]", IndexError),
    ("return (x, x)[2]", IndexError),
    ("return {'a': x}['b']", KeyError),
    ("return x.nothing", AttributeError),
    ("return math.nothing(x)", AttributeError),
    ("return x + 'a'", TypeError),
    ("for a, b in zip([x, x], [x], strict=True): y = a * b\n    return y", ValueError),
    ("for a, b in zip([x], [x, 1.0], strict=True): y = a * b\n    return y", ValueError),
    ("return x(1)", TypeError),
    ("a, b = [x, x, x]\n    return a", ValueError),
    ("a, b = x\n    return a", TypeError),
    ("for v in x: pass\n    return x", TypeError),
    ("assert x < 0, 'told'\n    return x", AssertionError),
    ("raise\n", RuntimeError),
    ("return math.exp(x * 10000)", OverflowError),
    ("return (lambda t: t)(x, x)", TypeError),
    ("return (lambda t: t)(u=x)", TypeError),
    ("import no_such_module\n    return x", ImportError),
    ("return np.ones(2) @ np.ones(3) * x", ValueError),
    ("return np.sum((np.ones(2) * x) @ np.ones(3))", ValueError),
    ("return int('a') * x", ValueError),
]
RAISES_FAILS = {
    "return {'a': x}['b']": "dicts that hold differentiated values",
}


@pytest.mark.parametrize(("body", "kind"), [marked(body, RAISES_FAILS, body, kind) for body, kind in RAISES])
def test_what_the_plain_call_raises_the_gradient_raises(notebook, body: str, kind: type[Exception]) -> None:
    notebook.run("def f(x):\n    " + body)
    f = notebook["f"]
    with pytest.raises(kind) as plain:
        f(2.0)
    for way in WAYS.values():
        with pytest.raises(kind) as caught:
            way(f, 2.0)
        assert type(caught.value) is type(plain.value)
        told, plainly = lines_of(caught.value), lines_of(plain.value)
        assert told[:1] == plainly[:1]


@pytest.mark.parametrize("n", [0, 2])
def test_a_wrong_number_of_arguments_is_a_type_error(n: int) -> None:
    with pytest.raises(TypeError):
        gradient(lambda x: x, *[1.0] * n)


def test_an_error_in_the_rule_of_the_user_shows_the_line_of_the_rule(notebook) -> None:
    notebook.run("def f(x): return x * x")
    notebook.run("""
        @rrule(f)
        def _(x):
            def back(ybar):
                return ybar / (x - 3.0)
            return f(x), back

        def g(x):
            return 2 * f(x)
    """)
    g = notebook["g"]
    assert gradient(g, 2.0) == (-2.0,)
    with pytest.raises(ZeroDivisionError) as caught:
        gradient(g, 3.0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].lineno == 4
    assert "cell 2" in frames[-1].filename


def test_an_error_leaves_nothing_behind(notebook) -> None:
    notebook.run("""
        def f(x):
            s = 0.0
            for i in range(3):
                s = s + math.sqrt(x - i)
            return s
    """)
    f = notebook["f"]
    want = sum(0.5 / math.sqrt(5.0 - i) for i in range(3))
    for _ in range(3):
        assert gradient(f, 5.0)[0] == pytest.approx(want)
        with pytest.raises(ValueError, match=r"math domain error|nonneg"):
            gradient(f, 1.5)


def test_endless_recursion_is_a_recursion_error(notebook) -> None:
    notebook.run("def f(x): return f(x) * x")
    with pytest.raises(RecursionError):
        gradient(notebook["f"], 1.0)


def test_a_keyboard_interrupt_comes_through(notebook) -> None:
    notebook.run("def f(x):\n    raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        gradient(notebook["f"], 1.0)


def test_the_text_of_the_line_can_be_read_in_the_traceback(notebook) -> None:
    notebook.run("def f(x):\n    y = x - 2.0\n    return 1 / y")
    with pytest.raises(ZeroDivisionError) as caught:
        gradient(notebook["f"], 2.0)
    assert "return 1 / y" in "".join(traceback.format_exception(caught.value))


def test_nan_is_not_an_error() -> None:
    assert math.isnan(gradient(lambda x: x * float("nan"), 1.0)[0])
    assert np.isnan(gradient(lambda a: np.sum(a * np.nan), np.ones(2))[0]).all()


def test_appending_to_a_list_from_outside_is_refused_by_name(notebook) -> None:
    notebook.run("seen = []\ndef f(x):\n    seen.append(1)\n    return x")
    with pytest.raises(UnsupportedError, match=r"`\.append\(\)`, which changes a list in place at cell 1:3"):
        gradient(notebook["f"], 2.0)
    assert notebook["seen"] == []
