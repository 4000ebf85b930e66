"""What a person writes in a cell: small programs of one number, first and second derivatives, at points on all paths."""

# ruff: noqa: B007, B905, E501, F841, F842, PIE804, RUF005 (users write such programs)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.compiler.differences import check
from zad_jupyter import grad, gradient, pullback, value_and_grad

CASES: list[Any] = []


def at(*points: float, order: int = 2, fails: str = "", hangs: bool = False) -> Callable[[Any], Any]:
    """A program, and the points where it is differentiated."""
    marks = [pytest.mark.xfail(strict=True, reason=fails, run=not hangs)] if fails else []

    def keep(f: Any) -> Any:
        CASES.extend(pytest.param(f, x, order, id=f"{f.__name__}({x})", marks=marks) for x in points)
        return f

    return keep


@pytest.mark.parametrize(("f", "x", "order"), CASES)
def test_program(f: Any, x: float, order: int) -> None:
    check(f, x, order=order)


# -------------------------------------------------------------------------------------------- numbers and operators

@at(0.7, -1.2, order=4)
def polynomial(x):
    return 3 * x ** 4 - 2 * x ** 3 + x * x - x / 4 + 7

@at(0.7, order=4)
def rational(x):
    return (1 - x) / (1 + x * x) - 1 / x

@at(0.3, 1.1, order=4)
def elementary(x):
    return math.sin(x) * math.exp(-x) + math.log(x) * math.sqrt(x) + math.atan(x) ** 3

@at(1.3, order=3)
def powers(x):
    return x ** x + 2 ** x + x ** 0 + x ** -2 + x ** 0.5

@at(0.0, 0.4)
def powers_at_zero(x):
    return x ** 2 + x ** 1 + x ** 0 + 3.0

@at(2.3, -2.3)
def unary(x):
    return -x + +x * -(x * x) + abs(x) * x

@at(5.3)
def modulo(x):
    return (x % 2.0) * x + (7.0 % x) + x // 2.0

@at(1.5)
def chained_comparison(x):
    return x * x if 1 < x < 2 <= 3 else -x

@at(1.5, -1.5)
def conditional(x):
    return (x * x if x > 0 else x ** 3) * (2 if x > 1 else 3)

@at(1.5, -1.5, 0.5)
def boolean_values(x):
    a = x > 0 and x * 2
    b = a or x * 3
    return b * b if not (x > 1 and b > 0) else x

@at(0.9)
def augmented(x):
    y = x
    y += 3
    y *= x
    y -= x / y
    y /= 2
    y **= 2
    return y

@at(0.9)
def walrus(x):
    return (y := x * x) * y + (z := y + 1) * z

@at(1.2)
def constants_only_multiply(x):
    return 2 * (3 * (x * 4)) - 0 * x + 1 * x

@at(0.4)
def the_same_value_many_times(x):
    y = x * x
    z = y * y
    return z * z * y * x

@at(1.7)
def math_of_two(x):
    return math.atan2(x, 2.0) + math.hypot(x, 3 * x) + math.pow(x, 3) + math.log(x, 3) + math.fmod(7.0, x)

@at(0.4, 3.0)
def least_and_greatest(x):
    return max(x, x * x) * min(x, 1.5) + max(x, 2.0, x ** 3)

@at(0.4)
def an_int_becomes_a_float(x):
    s = 0
    s = s + x
    s *= x
    return s

@at(0.4)
def formatted_text_does_no_harm(x):
    text = f"{x:.3f} and {x!r}"
    return x * len(text[:3])


# ------------------------------------------------------------------------------------------------------- branches

@at(0.7, 0.2, -1.0)
def if_elif_else(x):
    if x > 0.5:
        y = x * x
    elif x > 0:
        y = math.sin(x)
    else:
        y = -x * x * x
    return 3 * y

@at(0.7, -0.7)
def assigned_in_one_arm(x):
    y = x
    if x > 0:
        y = y * x
    return y * y

@at(0.7, -0.7)
def early_return(x):
    if x > 0:
        return x * x
    y = x ** 3
    return y

@at(0.7, 1.7, 2.7)
def returns_in_a_row(x):
    if x < 1:
        return math.sin(x)
    x = x * x
    if x < 4:
        return x * x
    return 1 / x

@at(0.7, -0.7)
def nested_branches(x):
    if x > 0:
        if x > 1:
            y = x
        else:
            y = x * x
            if y > 0.3:
                return y * y * x
    else:
        y = -x
        if y > 0.5:
            y = y ** 3
    return y

@at(0.7, 1.7)
def type_depends_on_branch(x):
    y = 1 if x > 1 else x
    return y * x

@at(0.7, 1.7)
def number_or_tuple(x):
    y = (x, 2 * x) if x > 1 else (x * x, 1)
    return y[0] * y[1]

@at(0.7)
def global_constant(x):
    return WEIGHT * x + x ** COUNT

WEIGHT, COUNT = 2.5, 3


# ----------------------------------------------------------------------------------------------------------- loops

@at(1.3)
def powers_in_a_loop(x):
    s = 0
    for i in range(5):
        s += x ** i
    return s

@at(0.9, order=3)
def iterated(x):
    for _ in range(5):
        x = math.sin(x) * x
    return x

@at(1.3)
def while_loop(x):
    n = 0
    while n < 4:
        x = x * x * 0.9 + 1 / x
        n += 1
    return x

@at(1.1, 1.9)
def while_on_the_value(x):
    while x < 50:
        x = x * x + 0.1
    return math.log(x)

@at(2.0, 1.2, 0.3)
def return_inside_loop(x):
    for k in range(5):
        x = x * x
        if x > 10:
            return x + k
    return -x

@at(1.1, 3.0)
def break_continue_else(x):
    s = 0.0
    for k in range(10):
        if k == 3:
            continue
        s = s + x * k
        if s > 20:
            break
        s = s * 1.01
    else:
        s = s * 2
    return s * s

@at(0.25, 1.1)
def while_true(x):
    n = 0
    while True:
        n += 1
        x = x + x * x
        if x > 4:
            break
        if n > 20:
            return -x
    return x * n

@at(1.13, 0.8)
def nested_loops(x):
    s = 0.0
    for i in range(4):
        t = x * i
        for j in range(i):
            t = t * x + j
            if t > 5:
                break
        s += t
    return s

@at(1.1, 2.1)
def return_from_the_inner_loop(x):
    for i in range(3):
        for j in range(3):
            x = x + x * i * j / 4
            if x > 4:
                return x * x
        else:
            x = x * 1.5
    return x

@at(1.1)
def loop_that_never_runs(x):
    y = x * 2
    for _ in range(0):
        y = y * y
    while x > 100:
        y = 0.0
    return y * x

@at(1.1, -0.4)
def branch_in_loop_swaps_arms(x):
    y = math.cos(x)
    for i in range(4):
        if x > 0.3:
            y = x * y
        else:
            for _ in range(2):
                z = x
                x = y * z
        x = x - 0.1 * i
    return x + y

@at(1.2)
def over_a_tuple(x):
    s = 0.0
    for a in (x, x * x, 2.0):
        s = s * x + a
    return s

@at(1.2)
def over_a_list(x):
    s = 1.0
    for a in [x, x * x, 2.0]:
        s *= a + x
    return s

@at(1.2)
def over_pairs(x):
    s = 0.0
    for a, b in [(x, 1.0), (2.0, x), (x, x)]:
        s += a * b
    return s

@at(1.2)
def over_enumerate_and_zip(x):
    xs = [x, x * x, 2.0]
    s = 0.0
    for i, (a, b) in enumerate(zip(xs, [1.0, 2.0, x]), 1):
        s += a * b * i
    return s

@at(1.2)
def over_a_strict_zip(x):
    s = 0.0
    for a, b in zip([x, x * x], (2.0, x), strict=True):
        s += a * b
    return s

@at(1.2)
def over_reversed(x):
    s = 0.0
    for a in reversed([x, 2.0, x * x]):
        s = s * x + a
    return s

@at(1.2)
def over_dict_items(x):
    s = 0.0
    for name, weight in {"a": 2.0, "b": 3.0}.items():
        s += weight * x ** len(name)
    return s

@at(1.0, order=1)
def deep_chain(x):
    for _ in range(20000):
        x = x * 1.0 + 0.0
    return x

@at(0.8)
def loop_carried_pair(x):
    a, b = x, 1.0
    for _ in range(4):
        a, b = b + a * x, a
    return a * b

@at(0.8)
def variable_first_bound_in_loop(x):
    for i in range(3):
        last = x * i + x * x
    return last * x


# ------------------------------------------------------------------------------------------------- tuples and lists

@at(2.0)
def swap(x):
    a, b = x, x * 2
    a, b = b, a
    return a - b * b

@at(2.0)
def unpacking(x):
    (a, (b, c)), *rest = (x, (x * x, 2.0)), x ** 3, 1.0
    first, *_, last = rest
    return a * b + c * first + last

@at(2.0)
def tuple_arithmetic(x):
    t = (x, x * x) + (3.0,)
    return t[0] * t[-1] + sum(t) + len(t[1:]) * t[1]

@at(2.0)
def append_and_sum(x):
    out = []
    for i in range(4):
        out.append(x ** i)
    return sum(out)

@at(0.5)
def append_and_read_back(x):
    out = [x, x * x]
    for _ in range(3):
        out.append(out[-1] * out[-2] + x)
    return out[-1] + out[0] * len(out)

@at(0.5)
def slices_of_lists(x):
    out = [x, x * x, x ** 3, 2.0]
    return sum(out[1:]) * out[::2][1] + sum(out[:-1])

@at(2.0)
def comprehension(x):
    return sum([x ** i for i in range(5) if i != 2 if i != 1])

@at(2.0)
def nested_comprehension(x):
    return sum([a * b for a in [x, 2.0] for b in (x, x * x) if a > 0]) + sum([sum([x * j for j in range(i)]) for i in range(4)])

@at(2.0)
def generator_that_is_used_up(x):
    return sum(x ** i for i in range(4)) + max(x * a for a in (1, 2)) + math.prod(x for _ in range(3))

@at(2.0)
def products(x):
    return math.prod([x, 2 * x, x * x]) + math.fsum([x, x * x])

@at(1.3)
def sorted_and_extremes(x):
    xs = [x * x, x, 3 * x]
    return max(xs) * min(xs) + x

@at(1.3)
def list_of_tuples(x):
    pairs = []
    for i in range(3):
        pairs.append((x * i, x ** i))
    return sum([a * b for a, b in pairs]) + pairs[1][0]

@at(1.3)
def list_of_lists(x):
    rows = [[x, 2.0], [x * x, x]]
    return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]

@at(1.3)
def membership_and_length(x):
    xs = [x, x]
    return x * len(xs) if x in xs else 0.0

@at(1.3, fails="dicts that hold differentiated values")
def dict_display(x):
    d = {"a": x, "b": x * x}
    return d["a"] * d["b"]


# ------------------------------------------------------------------------------------------------------- functions

def helper(a, b=2.0, *, c=1.0):
    return a * b + c * a

def variadic(*args):
    return args[0] * args[1] + args[2] + len(args)

def with_words(a, **words):
    return a * words["k"]

def many(a, b, /, c=3.0, *rest, d=4.0, **others):
    return a * b + c * d + sum(rest)

@at(1.1)
def defaults_and_keywords(x):
    return helper(x) * helper(x, 3.0) * helper(b=x, a=x, c=x) + helper(x, c=x)

@at(1.1)
def star_arguments(x):
    return variadic(x, x * 2, x * 3) + variadic(*(x, x, x)) + variadic(x, *[x, 1.0])

@at(1.1)
def star_star_arguments(x):
    return with_words(x, k=3.0) + helper(**{"a": x})

@at(1.1)
def every_kind_of_parameter(x):
    return many(x, 2.0) + many(x, x, x, x, x * x, d=x)

@at(2.0)
def two_lambdas_first(x): return (lambda t: t * t, lambda t: t ** 3)[0](x)

@at(2.0)
def two_lambdas_second(x): return (lambda t: t * t, lambda t: t ** 3)[1](x)

def factorial_like(x, n):
    return x if n == 0 else x * factorial_like(x, n - 1)

def even(x, n): return x if n == 0 else math.sin(odd(x, n - 1))
def odd(x, n): return x * x if n == 0 else 2 * even(x, n - 1)

@at(1.2)
def recursion(x):
    return factorial_like(x, 5)

@at(1.2)
def mutual_recursion(x):
    return even(x, 3) + odd(x, 2)

@at(1.2, 40.0, order=1)
def recursion_on_the_value(x):
    return x if x < 1 else recursion_on_the_value(x / 2) * 1.5

@at(1.2)
def inner_recursion(x):
    def go(n):
        return x if n == 0 else x * go(n - 1)
    return go(3)

@at(2.0)
def inner_function(x):
    def q(t):
        return t * t * x
    return q(x) + q(1.0)

@at(2.0)
def inner_function_of_inner_function(x):
    def outer(a):
        def inner(b):
            return a * b * x
        return inner(a) + inner(x)
    return outer(3.0) * outer(x)

@at(2.0)
def function_that_returns_a_function(x):
    def multiply(k):
        return lambda t: t * k * x
    return multiply(x)(3.0) + multiply(2.0)(x)

@at(1.2)
def functions_as_values(x):
    def apply(f, v):
        return f(v)
    return apply(lambda t: t * t, x) + apply(math.sin, x)

@at(1.2)
def functions_in_a_list(x):
    s = 0.0
    for f in [lambda t: t * t, math.sin, lambda t: t * x]:
        s += f(x)
    return s

@at(1.2)
def lambda_with_a_default(x):
    f = lambda t, k=x: t * k
    return f(2.0) + f(x, 3.0)

def compose(*functions):
    def composed(x):
        for f in functions:
            x = f(x)
        return x
    return composed

@at(0.8)
def composition(x):
    return compose(math.sin, math.exp, lambda t: t * t)(x)

def counter_of(k):
    def count(t):
        return k * t * t
    return count

three_times = counter_of(3.0)

@at(0.8)
def closure_from_outside(x):
    return three_times(x)

class Poly:
    """An object made outside: its attributes are constants to the gradient."""

    scale = 2.0

    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        total = 0.0
        for c in self.coefficients:
            total = total * x + c
        return self.scale * total

    def twice(self, x):
        return self(x) + self(x)

    @staticmethod
    def cube(x):
        return x ** 3

    @property
    def degree(self):
        return len(self.coefficients) - 1

poly = Poly(1.0, -2.0, 0.5)

@at(0.8)
def callable_object(x):
    return poly(x) + poly.twice(x)

@at(0.8)
def static_method_and_property(x):
    return Poly.cube(x) * poly.degree + poly.cube(x) * Poly.scale

@at(0.8)
def import_inside(x):
    import math as m
    from math import cos
    return m.sin(x) * cos(x)

@at(0.8)
def docstring_and_annotations(x: float) -> float:
    """Nothing here is differentiated."""
    y: float = x * x
    z: int
    return y * y


# ------------------------------------------------------------------------------------------------------ exceptions

@at(2.0, 1.0)
def try_except_finally(x):
    y = x * x
    try:
        y = y * x
        if y > 5:
            raise ValueError
        y = y * 7
    except ValueError:
        y = y + 3 * x
    finally:
        y = 2 * y
    return y

@at(2.0, 1.0)
def called_with_exceptions_inside(x):
    return try_except_finally(x) * x

@at(2.0)
def constant_assigned_inside_try(x):
    y = x
    try:
        x = -1.5
        1 / 0
    except ZeroDivisionError:
        pass
    return x * y

@at(2.0, -2.0)
def domain_error(x):
    try:
        y = math.sqrt(x)
    except ValueError:
        y = x * x
    return y * y * x

@at(2.0, -2.0)
def several_kinds_caught(x):
    try:
        y = math.sqrt(x)
    except (ZeroDivisionError, ValueError) as error:
        y = x * x * len(str(error)[:1])
    return y * x

@at(2.0, -2.0)
def handler_for_each(x):
    try:
        y = 1 / 0 if x < 0 else math.log(-x)
    except ZeroDivisionError:
        y = x * x
    except ValueError:
        y = x ** 3
    return y

@at(2.0, -2.0)
def try_else(x):
    try:
        y = math.sqrt(x)
    except ValueError:
        y = x
    else:
        y = y * x
    return y * y

@at(2.0, 0.5)
def raised_in_a_callee(x):
    def fussy(t):
        if t > 1:
            raise KeyError("t")
        return t * t
    y = x
    try:
        y = y * x
        y = fussy(y) * x
        y = y * 3
    except LookupError:
        y = y * 5
    return y

@at(2.1, 0.5)
def break_out_of_try(x):
    for i in range(4):
        try:
            x = x * 1.5
            if x > 3:
                break
            if i == 1:
                continue
            x = x * x
        finally:
            x = x + 0.1
    return x

@at(2.0, 0.5)
def return_out_of_try(x):
    for _ in range(3):
        try:
            x = x * x
            if x > 3:
                return x * x
            raise ValueError
        except ValueError:
            x = x + 0.5
    return x

@at(2.0, 0.5)
def nested_try(x):
    y = x
    try:
        y = y * x
        try:
            y = y * 2
            if x > 1:
                raise KeyError
        except ValueError:
            y = 0.0
        y = y * 3
    except KeyError:
        y = y * x
    return y

@at(2.0, 0.5)
def inner_try_then_raise(x):
    y = x
    try:
        y = y * x
        try:
            y = y * 2
        except ValueError:
            y = 0.0
        raise KeyError
    except KeyError:
        y = y * x
    return y

@at(2.0, -0.5)
def unknown_name_in_one_arm(x):
    try:
        if x > 0:
            x = x * x
        else:
            y = no_such_name
    except NameError:
        return x ** 3
    return x

@at(2.0, 0.5)
def loop_inside_try(x):
    s = x
    try:
        for i in range(5):
            s = s * x
            if s > 3:
                raise ValueError
    except ValueError:
        s = s + i
    return s * s

@at(2.0)
def raise_from_and_again(x):
    y = x
    try:
        try:
            y = y * y
            raise ValueError("a")
        except ValueError as error:
            y = y * 3
            raise KeyError("b") from error
    except KeyError:
        y = y * x
    return y


# ------------------------------------------------------------------------------------------------ derivatives inside

@at(2.0)
def gradient_of_a_closure(x):
    return x * grad(lambda y: x * y)(2.0)

@at(1.5)
def gradient_inside(x):
    return grad(lambda y: y ** 3)(x) + gradient(lambda y: math.sin(y) * y, x)[0]

@at(1.5)
def value_and_gradient_inside(x):
    v, d = value_and_grad(lambda y: y ** 3 * x)(x)
    return v * d

@at(1.5)
def gradient_of_two_arguments_inside(x):
    a, b = gradient(lambda u, v: u * u * v, x, x * x)
    return a * b

@at(1.5)
def pullback_inside(x):
    y, back = pullback(lambda t: t * t * t, x)
    return back(2.0)[0] * y

@at(0.5)
def perturbations_are_not_confused(x):
    return grad(lambda y: x * grad(lambda z: x * y * z)(1.0))(1.0)

@at(0.5)
def newton_with_an_inner_derivative(x):
    f = lambda t: t * t * t - x
    t = 1.0
    for _ in range(4):
        t = t - f(t) / grad(f)(t)
    return t

@at(0.5)
def gradient_descent_inside(x):
    loss = lambda w: (w * w - x) ** 2
    w = 1.0
    for _ in range(4):
        w = w - 0.1 * grad(loss)(w)
    return w

@at(0.7)
def twice_inside(x):
    return grad(grad(math.sin))(x) * x
