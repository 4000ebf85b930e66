"""Programs at random: small, smooth almost everywhere, always ending, and full of control flow.

`Writer` needs one thing: a function `choose(n)` that gives a number below n. Hypothesis gives it in the tests (choice 0
is always the simplest, so that failures shrink), `random.Random` in a long hunt. What it writes is the source of a
module with a function `f(x, y)`, its helpers, and two functions whose gradients are f's second and third derivatives.
"""

# ruff: noqa: E501 (templates of source lines)
from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace

HEAD = """\
import math
from zad_jupyter import grad, gradient, value_and_grad

SCALE = 0.75

"""
TAIL = """

def slope(x, y):
    gx, gy = gradient(f, x, y)
    return 0.7 * gx - 0.4 * gy

def curvature(x, y):
    gx, gy = gradient(slope, x, y)
    return 0.3 * gx + 0.6 * gy
"""


@dataclass
class Scope:
    """What a statement may use: names that are certainly bound, by what they hold."""

    numbers: list[str]  # may be assigned to again
    fixed: list[str] = field(default_factory=list)  # bound once, outside loops: what inner functions may see
    lists: list[str] = field(default_factory=list)
    pairs: list[str] = field(default_factory=list)  # lists of (number, number)
    dicts: list[str] = field(default_factory=list)  # with the keys "a" and "b"
    functions: list[str] = field(default_factory=list)  # of one number
    counters: list[str] = field(default_factory=list)  # ints, not differentiated
    loop: bool = False
    returns: bool = True
    depth: int = 0

    def inside(self, **changes: object) -> Scope:
        copy = replace(self, **changes)  # type: ignore[arg-type]
        for name in KINDS:
            setattr(copy, name, list(getattr(copy, name)))
        copy.depth = self.depth + 1
        return copy

    def learn(self, *others: Scope) -> None:
        """Names that are bound in each of the others are bound from now on."""
        for kind in KINDS:
            if kind in ("fixed", "functions"):
                continue
            mine = getattr(self, kind)
            mine += [n for n in getattr(others[0], kind) if n not in mine and all(n in getattr(o, kind) for o in others)]


KINDS = ("numbers", "fixed", "lists", "pairs", "dicts", "functions", "counters")
Lines = list[str]


def indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines or ["pass"]]


class Writer:
    def __init__(self, choose: Callable[[int], int], size: int = 3, depth: int = 3) -> None:
        self.choose = choose
        self.size = size
        self.depth = depth
        self.count = 0
        self.left = 40  # statements; keeps programs readable

    # -- small choices

    def pick(self, items: list) -> object:  # type: ignore[type-arg]
        return items[self.choose(len(items))]

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def number(self) -> str:
        return ["1.0", "0.5", "2.0", "-1.5", "0.3", "2", "1", "SCALE"][self.choose(8)]

    # -- expressions: bounded, so that products of a few of them stay small

    def expr(self, s: Scope, depth: int = 2) -> str:
        if depth <= 0:
            return self.atom(s)
        kinds = [
            lambda: self.atom(s),
            lambda: f"{self.expr(s, depth - 1)} + {self.expr(s, depth - 1)}",
            lambda: f"({self.expr(s, depth - 1)}) * ({self.expr(s, depth - 1)})",
            lambda: f"{self.expr(s, depth - 1)} - ({self.expr(s, depth - 1)})",
            lambda: f"math.sin({self.expr(s, depth - 1)})",
            lambda: f"math.{self.pick(['cos', 'tanh', 'atan'])}({self.expr(s, depth - 1)})",
            lambda: f"({self.expr(s, depth - 1)}) / ({self.positive(s, depth - 1)})",
            lambda: f"({self.expr(s, depth - 1)}) ** {self.pick(['2', '3', '2.0'])}",
            lambda: f"math.{self.pick(['sqrt', 'log'])}({self.positive(s, depth - 1)})",
            lambda: f"-({self.expr(s, depth - 1)})",
            lambda: f"({self.expr(s, depth - 1)} if {self.test(s)} else {self.expr(s, depth - 1)})",
            lambda: f"{self.pick(['max', 'min'])}({self.expr(s, depth - 1)}, {self.expr(s, depth - 1)})",
            lambda: f"abs({self.expr(s, depth - 1)})",
            lambda: self.call(s, depth),
            lambda: self.container(s, depth),
            lambda: self.derivative(s),
        ]
        return kinds[self.choose(len(kinds))]()

    def atom(self, s: Scope) -> str:
        if self.choose(4) < 3:
            return str(self.pick(s.numbers + s.fixed))
        if s.counters and self.choose(2):
            return str(self.pick(s.counters))
        return self.number()

    def positive(self, s: Scope, depth: int) -> str:
        name = self.expr(s, depth)
        return f"1.2 + math.{self.pick(['sin', 'tanh'])}({name})"

    def test(self, s: Scope) -> str:
        kinds = [
            lambda: f"{self.atom(s)} > {self.number()}",
            lambda: f"{self.expr(s, 1)} < {self.expr(s, 1)}",
            lambda: f"0 < {self.atom(s)} < 1.5",
            lambda: f"{self.atom(s)} > 0 and {self.expr(s, 1)} < 1",
            lambda: f"{self.atom(s)} < 0 or not {self.expr(s, 1)} < 0.5",
        ]
        if s.counters:
            kinds.append(lambda: f"{self.pick(s.counters)} {self.pick(['==', '>', '!='])} {self.choose(3)}")
        if s.lists:
            kinds.append(lambda: f"len({self.pick(s.lists)}) > {self.choose(4)}")
        return kinds[self.choose(len(kinds))]()

    def call(self, s: Scope, depth: int) -> str:
        one, two = (lambda: self.expr(s, depth - 2)), (lambda: self.expr(s, depth - 2))
        seen = lambda: self.expr(Scope(["t"], s.fixed), depth - 2)
        kinds = [
            lambda: f"helper({one()})",
            lambda: f"helper({one()}, {two()})",
            lambda: f"helper(b={one()}, a={two()})",
            lambda: f"helper({one()}, c={two()})",
            lambda: f"total({one()}, {two()}, {self.atom(s)})",
            lambda: f"total(*({one()}, {two()}))",
            lambda: f"swapped({one()}, {two()})[{self.choose(2)}]",
            lambda: f"(lambda t: t * {seen()})({two()})",
            lambda: f"apply(lambda t: t * t + {seen()}, {two()})",
            lambda: f"tower({one()}, {self.choose(4)})",
            lambda: f"apply(math.sin, {one()})",
        ]
        if s.functions:
            kinds += [lambda: f"{self.pick(s.functions)}({one()})"] * 3
            kinds.append(lambda: f"apply({self.pick(s.functions)}, {one()})")
        return kinds[self.choose(len(kinds))]()

    def container(self, s: Scope, depth: int) -> str:
        one, two = (lambda: self.expr(s, depth - 2)), (lambda: self.expr(s, depth - 2))
        kinds = [
            lambda: f"({one()}, {two()})[{self.choose(2)}]",
            lambda: f"[{one()}, {two()}, {self.atom(s)}][-{1 + self.choose(3)}]",
            lambda: f"{{'a': {one()}, 'b': {two()}}}[{self.pick(['chr(97)', repr('a'), repr('b')])}]",
            lambda: f"sum([{one()} * k for k in range({1 + self.choose(3)}) if k != 1])",
            lambda: f"sum([t * {one()} for t in ({two()}, {self.atom(s)})])",
        ]
        if s.lists:
            kinds += [
                lambda: f"sum({self.pick(s.lists)})",
                lambda: f"sum([t * t for t in {self.pick(s.lists)}])",
                lambda: f"{self.pick(s.lists)}[-1]",
                lambda: f"max({self.pick(s.lists)})",
                lambda: f"math.prod({self.pick(s.lists)}[:2])",
                lambda: f"sum([p * q for p, q in zip({self.pick(s.lists)}, {self.pick(s.lists)})])",
                lambda: f"sum({self.pick(s.lists)}[::-1][:2])",
            ]
        if s.pairs:
            kinds += [lambda: f"{self.pick(s.pairs)}[0][{self.choose(2)}]", lambda: f"sum([p - q * p for p, q in {self.pick(s.pairs)}])"]
        if s.dicts:
            kinds += [lambda: f"{self.pick(s.dicts)}[{self.pick(['a', 'b'])!r}]"] * 2
        return kinds[self.choose(len(kinds))]()

    def derivative(self, s: Scope) -> str:
        body = self.expr(Scope(["t"], s.fixed, functions=s.functions), 1)
        kinds = [
            lambda: f"grad(lambda t: {body})({self.atom(s)})",
            lambda: f"gradient(lambda t, u: u * ({body}), {self.atom(s)}, {self.atom(s)})[{self.choose(2)}]",
            lambda: f"sum(value_and_grad(lambda t: t * ({body}))({self.atom(s)}))",
        ]
        return kinds[self.choose(len(kinds))]()

    # -- statements

    def block(self, s: Scope, at_least: int = 1) -> Lines:
        lines: Lines = []
        for _ in range(at_least + self.choose(self.size)):
            if self.left <= 0:
                break
            self.left -= 1
            lines += self.statement(s)
        return lines

    def statement(self, s: Scope) -> Lines:
        simple = [self.assign, self.assign, self.augment, self.unpack, self.build, self.append, self.inner, self.number_of]
        compound = [self.if_, self.if_, self.for_, self.for_, self.while_, self.try_, self.leave]
        if s.depth >= self.depth or self.left <= 0:
            compound = [self.leave]
        choices = simple + compound
        return choices[self.choose(len(choices))](s)

    def assign(self, s: Scope) -> Lines:
        value = self.expr(s)
        name = str(self.pick(s.numbers)) if self.choose(2) else self.fresh("v")
        if name not in s.numbers:
            s.numbers.append(name)
        return [f"{name} = {value}"]

    def number_of(self, s: Scope) -> Lines:
        """A number that begins as an int and may become a float."""
        name = self.fresh("n")
        value = self.pick(["0", "1", "helper(b := 0.5, 2)", "(w := " + self.expr(s, 1) + ") * w"])
        s.numbers.append(name)
        return [f"{name} = {value}"]

    def augment(self, s: Scope) -> Lines:
        return [f"{self.pick(s.numbers)} {self.pick(['+=', '-=', '*='])} {self.expr(s, 1)}"]

    def unpack(self, s: Scope) -> Lines:
        a, b = (str(self.pick(s.numbers)) if self.choose(2) else self.fresh("v") for _ in range(2))
        kinds = [
            lambda: f"{a}, {b} = {self.expr(s, 1)}, {self.expr(s, 1)}",
            lambda: f"{a}, {b} = {b if b in s.numbers else 'x'}, {a if a in s.numbers else 'y'}",
            lambda: f"{a}, {b} = swapped({self.expr(s, 1)}, {self.expr(s, 1)})",
            lambda: f"{a}, (_, {b}) = {self.expr(s, 1)}, (1.0, {self.expr(s, 1)})",
            lambda: f"{a}, *_, {b} = [{self.expr(s, 1)}, 2.0, {self.expr(s, 1)}]",
            lambda: f"{a} = {b} = {self.expr(s, 1)}",
        ]
        line = kinds[self.choose(len(kinds))]()
        s.numbers += [n for n in dict.fromkeys((a, b)) if n not in s.numbers]
        return [line]

    def build(self, s: Scope) -> Lines:
        kind = self.choose(4)
        if kind == 3:
            name = self.fresh("d")
            line = f"{name} = {{'a': {self.expr(s, 1)}, 'b': {self.expr(s, 1)}}}"
            s.dicts.append(name)
        elif kind == 2:
            name = self.fresh("ps")
            line = f"{name} = [({self.expr(s, 1)}, {self.atom(s)})]"
            s.pairs.append(name)
        else:
            name = self.fresh("xs")
            comprehension = f"[{self.expr(s, 1)} * k for k in range(1, {2 + self.choose(3)})]"
            line = f"{name} = " + (comprehension if kind else f"[{self.expr(s, 1)}, {self.atom(s)}]")
            s.lists.append(name)
        return [line]

    def append(self, s: Scope) -> Lines:
        if s.pairs and self.choose(2):
            return [f"{self.pick(s.pairs)}.append(({self.expr(s, 1)}, {self.expr(s, 1)}))"]
        if s.lists:
            return [f"{self.pick(s.lists)}.append({self.expr(s, 1)})"]
        return self.build(s)

    def inner(self, s: Scope) -> Lines:
        """A function that sees names around it."""
        name, t = self.fresh("g"), self.fresh("t")
        lines: Lines = []
        if not s.loop and self.choose(2):
            seen = self.fresh("c")
            lines.append(f"{seen} = {self.expr(s, 1)}")
            s.fixed.append(seen)
        own = Scope([t], s.fixed, functions=[] if s.loop else list(s.functions), depth=max(s.depth, self.depth - 1))
        if self.choose(2):
            lines.append(f"{name} = lambda {t}, k={self.atom(s)}: {self.expr(replace(own, numbers=[t, 'k']), 2)}")
        else:
            body = self.block(own)
            lines += [f"def {name}({t}):", *indented([*body, f"return {self.expr(own, 2)}"])]
        s.functions.append(name)
        return lines

    def leave(self, s: Scope) -> Lines:
        ways = [f"return {self.expr(s, 1)}"] if s.returns else []
        if s.loop:
            ways += ["break", "continue"]
        if not ways:
            return self.assign(s)
        return [f"if {self.test(s)}:", *indented([str(self.pick(ways))])]

    def if_(self, s: Scope) -> Lines:
        first, second = s.inside(), s.inside()
        lines = [f"if {self.test(s)}:", *indented(self.block(first))]
        kind = self.choose(3)
        if kind == 1:
            lines += ["else:", *indented(self.block(second))]
            s.learn(first, second)
        elif kind == 2:
            third = s.inside()
            lines += [f"elif {self.test(s)}:", *indented(self.block(second)), "else:", *indented(self.block(third))]
            s.learn(first, second, third)
        return lines

    def for_(self, s: Scope) -> Lines:
        i, v = self.fresh("i"), self.fresh("v")
        times = f"range({1 + self.choose(4)})"
        heads = [
            (f"{i} in {times}", {"counters": [*s.counters, i]}),
            (f"{v} in ({self.expr(s, 1)}, {self.expr(s, 1)})", {"numbers": [*s.numbers, v]}),
            (f"{v} in [{self.expr(s, 1)}, {self.atom(s)}, 0.4]", {"numbers": [*s.numbers, v]}),
        ]
        if s.lists:
            name = self.pick(s.lists)
            both = {"numbers": [*s.numbers, v], "counters": [*s.counters, i]}
            heads += [
                (f"{v} in list({name})[:4]", {"numbers": [*s.numbers, v]}),
                (f"{i}, {v} in enumerate(list({name})[:3])", both),
                (f"{v}, {i} in zip({name}[:], {times})", both),
                (f"{v} in reversed({name}[:3])", {"numbers": [*s.numbers, v]}),
            ]
        head, names = heads[self.choose(len(heads))]
        body = self.block(s.inside(loop=True, **names))
        lines = [f"for {head}:", *indented(body)]
        if not self.choose(4):
            lines += ["else:", *indented(self.block(s.inside()))]
        return lines

    def while_(self, s: Scope) -> Lines:
        k = self.fresh("k")
        more = f" and {self.test(s)}" if self.choose(2) else ""
        body = self.block(s.inside(loop=True, counters=[*s.counters, k]))
        lines = [f"{k} = 0", f"while {k} < {1 + self.choose(4)}{more}:", *indented([f"{k} += 1", *body])]
        if not self.choose(4):
            lines += ["else:", *indented(self.block(s.inside()))]
        return lines

    def try_(self, s: Scope) -> Lines:
        kind = str(self.pick(["ValueError", "ZeroDivisionError", "(KeyError, ValueError)"]))
        body = self.block(s.inside())
        reasons = [
            [f"if {self.test(s)}:", "    raise ValueError('no')"],
            [f"{self.pick(s.numbers)} += math.sqrt({self.expr(s, 1)})"],
            [f"if {self.test(s)}:", "    1 / 0"],
            [f"fussy({self.expr(s, 1)})"],
        ]
        body += [*self.pick(reasons), *self.block(s.inside())]  # type: ignore[misc]
        caught = "Exception" if not self.choose(2) else f"({kind}, ArithmeticError, ValueError)"
        lines = ["try:", *indented(body), f"except {caught}{self.pick(['', ' as error'])}:", *indented(self.block(s.inside()))]
        if not self.choose(3):
            lines += ["else:", *indented(self.block(s.inside()))]
        if not self.choose(3):
            lines += ["finally:", *indented(self.block(s.inside(loop=False, returns=False)))]
        return lines

    # -- the whole program

    def program(self) -> str:
        helpers = textwrap.dedent("""\
            def helper(a, b=0.5, *, c=1.5):
                if a > b:
                    return a * b + c
                return a - b * c

            def total(*parts):
                s = 0
                for part in parts:
                    s += part * part
                return s

            def swapped(a, b):
                return b, a

            def apply(g, v):
                return g(v)

            def tower(a, n):
                return a if n == 0 else math.sin(a * tower(a, n - 1))

            def fussy(a):
                if a < 0.2:
                    raise ValueError("too small")
                return a

            """)
        if self.choose(2):
            s, begin = Scope(["u", "w"], ["x", "y"]), ["u, w = x, y"]
        else:
            s, begin = Scope(["x", "y"]), []
        body = self.block(s, at_least=2)
        return HEAD + helpers + "\n".join(["def f(x, y):", *indented([*begin, *body, f"return {self.expr(s)}"])]) + TAIL
