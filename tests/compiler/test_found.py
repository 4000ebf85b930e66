"""What strangers found wrong, and the right answers: by calculus on the few lines shown."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
import pytest

from zad_jupyter import grad, gradient, hessian, jacobian, pullback, rrule, value_and_grad
from zad_jupyter.rules import registry
from zad_jupyter.rules.errors import UnsupportedError


@pytest.fixture(autouse=True)
def rules_go_with_the_test():
    with registry.transaction("test_found"):
        pass
    yield
    for rule in registry.rules():
        if rule.layer == "user":
            registry.remove(rule)


# ---------------------------------------------------------------------------------------- operators of a user's class


class Reflected:
    def __rsub__(self, other: Any) -> Any:
        return 10.0 * other - 3.0

    def __sub__(self, other: Any) -> Any:
        return 99.0

    def __rmul__(self, other: Any) -> Any:
        return 7.0 * other

    def __radd__(self, other: Any) -> Any:
        return other * 5.0

    def __rtruediv__(self, other: Any) -> Any:
        return other * other


thing: Any = Reflected()


@pytest.mark.parametrize(
    ("f", "value", "slope"),
    [
        (lambda x: x - thing, 17.0, 10.0),
        (lambda x: x * thing, 14.0, 7.0),
        (lambda x: x + thing, 10.0, 5.0),
        (lambda x: x / thing, 4.0, 4.0),
        (lambda x: sum([x, thing]), 10.0, 5.0),
    ],
)
def test_a_reflected_operator_gets_the_operands_in_its_own_order(f, value, slope):
    y, back = pullback(f, 2.0)
    assert (y, back(1.0), gradient(f, 2.0)) == (value, (slope,), (slope,))


class Compared:
    v = 3.0

    def __eq__(self, other: Any) -> Any:
        return self.v * other

    def __lt__(self, other: Any) -> Any:
        return self.v + other

    def __and__(self, other: Any) -> Any:
        return self.v * other * other

    def __contains__(self, other: Any) -> bool:
        return bool(other > self.v)


compared: Any = Compared()


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (lambda x: compared == x, 2.0, 3.0),
        (lambda x: x == compared, 2.0, 3.0),
        (lambda x: compared < x, 2.0, 1.0),
        (lambda x: x > compared, 2.0, 1.0),
        (lambda x: compared & x, 2.0, 12.0),
        (lambda x: x * 1.5 if x in compared else x, 4.0, 1.5),
        (lambda x: x * 1.5 if x in compared else x, 2.0, 1.0),
    ],
)
def test_comparisons_and_bit_operators_of_a_class_are_its_bodies(f, x, slope):
    assert gradient(f, x) == (slope,)


def test_operators_and_calls_follow_their_class():
    class Op:
        def __mul__(self, other: Any) -> Any:
            return other * 2.0

        def __call__(self, other: Any) -> Any:
            return other * 3.0

    op = Op()
    times, call = lambda x: op * x, lambda x: op(x)
    assert (gradient(times, 1.0), gradient(call, 1.0)) == ((2.0,), (3.0,))
    Op.__mul__ = lambda self, x: x * 20.0  # type: ignore[method-assign]
    Op.__call__ = lambda self, x: x * 30.0  # type: ignore[method-assign]
    assert (gradient(times, 1.0), gradient(call, 1.0)) == ((20.0,), (30.0,))


def test_an_attribute_in_the_place_of_a_method_is_refused_and_not_passed_over():
    class Shape:
        def area(self, x: Any) -> Any:
            return x * x

    shape: Any = Shape()
    f = lambda x: shape.area(x)
    assert gradient(f, 3.0) == (6.0,)
    shape.area = lambda x: 11 * x
    with pytest.raises(UnsupportedError, match="an attribute of the object itself"):
        gradient(f, 3.0)
    del shape.area
    assert gradient(f, 3.0) == (6.0,)


def test_what_was_missing_is_used_when_it_is_there():
    module: Any = types.ModuleType("module")
    f = lambda x: module.w * x
    with pytest.raises(AttributeError):
        gradient(f, 1.0)
    module.w = 3.0
    assert gradient(f, 1.0) == (3.0,)

    def two(a, b):
        return a * b

    g = lambda x: two(x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required"):
        gradient(g, 1.0)
    two.__defaults__ = (6.0,)
    assert gradient(g, 1.0) == (6.0,)


# ----------------------------------------------------------------------------------------- closures that are values


def chosen(x, y):
    f = lambda v: v * x
    g = f if x > 0.5 else math.sin
    return g(y)


def appended(x):
    f = lambda v: v * x
    fs = []
    fs.append(f)
    fs.append(f)
    return fs[0](1.0) + fs[1](1.0)


def compose(f, g):
    return lambda v: f(g(v))


def composed(x):
    h = lambda v: v
    for _ in range(3):
        h = compose(h, lambda v: v * x)
    return h(1.0)


def picked(x):
    def pick(n):
        if n % 2:
            return lambda v: v * x
        return lambda v: v + x

    s = 1.0
    for i in range(2):
        s = pick(i)(s)
    return s


def with_defaults(x):
    fs = []
    for i in range(2):
        fs.append(lambda v, i=i: v * x * (i + 1))
    return fs[0](1.0) * fs[1](2.0)


@pytest.mark.parametrize(
    ("f", "args", "want"),
    [
        (chosen, (1.3, 1.7), (1.7, 1.3)),
        (appended, (1.3,), (2.0,)),
        (composed, (1.3,), (3 * 1.3**2,)),
        (picked, (1.3,), (1.0 + 2 * 1.3,)),
        (with_defaults, (1.3,), (8 * 1.3,)),
    ],
)
def test_a_closure_that_is_a_value_has_the_cotangents_of_what_it_sees(f, args, want):
    assert gradient(f, *args) == pytest.approx(want, rel=1e-14)


def test_a_rule_that_chooses_its_pullback_has_a_second_derivative():
    def cube(x):
        return x**3

    @rrule(cube)
    def _(x: float):
        pullback = (lambda g: g * 3 * x * x) if x > 0 else (lambda g: 3 * x * x * g)
        return x**3, pullback

    assert (grad(cube)(2.0), grad(grad(cube))(2.0), grad(grad(grad(cube)))(2.0)) == (12.0, 12.0, 6.0)


# ------------------------------------------------------------------------------------------------------ higher orders


def closing_over(k):
    def f(w):
        return w * w * w * k

    return f


def test_the_second_derivative_of_a_closure():
    for k in (2.0, 3.0):
        assert grad(grad(closing_over(k)))(1.0) == 6 * k
        assert value_and_grad(grad(closing_over(k)))(1.0) == (3 * k, 6 * k)
        assert grad(grad(grad(closing_over(k))))(1.0) == 6 * k


def test_jacobians_and_hessians_are_differentiated():
    assert jacobian(lambda p: np.array([p[0] * p[1], 1.0]))(np.array([1.0, 2.0])).tolist() == [[2.0, 1.0], [0.0, 0.0]]
    assert jacobian(jacobian(lambda v: np.sum(v**3)))(np.ones(2)).tolist() == [[6.0, 0.0], [0.0, 6.0]]
    assert grad(hessian(lambda x: x**4))(2.0) == pytest.approx(48.0)


def power(n, x):
    return x if n == 0 else power(n - 1, x * x)


def fibonacci(n, x):
    return x if n < 2 else fibonacci(n - 1, x) * fibonacci(n - 2, x * x)


@pytest.mark.parametrize(("f", "degree"), [(lambda x: power(2, x), 4), (lambda x: fibonacci(3, x), 5)])
def test_recursion_to_the_fourth_order(f, degree):
    g, want = f, 1.0
    for order in range(1, 5):
        g, want = grad(g), want * (degree - order + 1)
        assert g(0.9) == pytest.approx(want * 0.9 ** (degree - order), rel=1e-12)


def test_a_rule_that_may_opt_out_and_loops_in_its_pullback_has_a_third_derivative():
    def four(x):
        return x**3

    @rrule(four)
    def _(x: float):
        if x < 0:
            return None

        def back(g):
            s = 0.0
            for _ in range(3):
                s = s + g * x * x
            return s

        return x**3, back

    assert (grad(four)(2.0), grad(grad(four))(2.0), grad(grad(grad(four)))(2.0)) == (12.0, 12.0, 6.0)


def test_concatenating_with_a_constant_has_a_second_derivative():
    inner = lambda v: np.sum(np.concatenate([v, np.ones(1)]) ** 2)
    v = np.array([1.0, 2.0])
    (got,) = gradient(lambda v: np.sum(gradient(inner, v)[0] * v), v)
    assert got.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("x", [0.5, 1.5, -0.5])
def test_a_product_of_an_array_to_the_third_order(x):
    f = lambda x: np.prod(np.array([x, 2 * x, 3 * x]))
    assert (grad(f)(x), grad(grad(f))(x), grad(grad(grad(f)))(x)) == pytest.approx((18 * x * x, 36 * x, 36.0))


def test_a_try_in_a_loop_has_two_derivatives_and_the_third_is_refused():
    def f(x):
        for _ in range(2):
            try:
                x = x * x
            except ValueError:
                x = 0.0
        return x

    assert (grad(f)(1.1), grad(grad(f))(1.1)) == pytest.approx((4 * 1.1**3, 12 * 1.1**2))
    with pytest.raises(UnsupportedError, match=r"third derivative of a `try` in a loop at test_found\.py:\d+"):
        grad(grad(grad(f)))(1.1)


# ---------------------------------------------------------------------------------------------------------- the rest


def test_an_unused_part_of_a_rules_value_comes_as_a_zero():
    def both(x):
        return x, x * x

    @rrule(both)
    def _(x: float):
        return (x, x * x), lambda ys: ys[0] + ys[1] * 2 * x

    assert gradient(lambda x: both(x)[1], 2.0) == (4.0,)
    assert gradient(lambda x: both(x)[0], 2.0) == (1.0,)


def test_a_tuple_that_grows_in_a_loop():
    def chain(x):
        node = None
        for i in range(3):
            node = (x * i, node)
        return node[0] * node[1][0]

    assert gradient(chain, 2.0) == (8.0,)


def test_lists_are_added_up():
    assert gradient(lambda x: sum([[x], [x * x]], [])[1], 2.0) == (4.0,)  # noqa: RUF017


def renewed(x):
    out = []
    row = []
    for i in range(4):
        row.append(x * i)
        if len(row) == 2:
            out.append(sum(row))
            row = []
    return out[0] * out[1]


def test_a_list_that_is_made_anew_in_a_loop_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"\.append\(\)"):
        gradient(renewed, 2.0)

    def inside(x):
        for _ in range(3):
            r = []
            r.append(x * x)
            r.append(x)
        return r[0] * r[1]

    assert gradient(inside, 2.0) == (12.0,)


def fails(x):
    if x < 0:
        raise ValueError(x)
    try:
        math.sqrt(-1)
    except ValueError as error:
        raise RuntimeError("mine") from error
    return x


def test_an_error_that_the_function_raises_is_the_users_with_its_cause():
    with pytest.raises(ValueError, match=r"-2\.0") as caught:
        gradient(fails, -2.0)
    assert caught.value.args == (-2.0,)
    with pytest.raises(RuntimeError, match="mine") as chained:
        gradient(fails, 2.0)
    assert isinstance(chained.value.__cause__, ValueError)
    tb = chained.value.__cause__.__traceback__
    assert tb is not None
    assert tb.tb_frame.f_code.co_filename == __file__


def test_what_an_exception_carries_is_not_lost_silently():
    class Carrier(Exception):
        pass

    def f(x):
        try:
            raise Carrier(x * x)
        except Carrier as error:
            return error.args[0] * 2.0

    with pytest.raises(UnsupportedError, match="args"):
        gradient(f, 3.0)


def test_texts_of_numbers_are_no_matter_of_derivatives():
    assert gradient(lambda x: x * len("%.2f" % x) + 0 * len("{}".format(x)), 2.0) == (4.0,)  # noqa: UP031, UP032


V = np.array([0.5, 1.4, -0.7])
MASK = np.array([True, False, True])


@pytest.mark.parametrize(
    "f",
    [
        lambda v: np.sum(v, where=MASK),
        lambda v: np.mean(v, where=MASK),
        lambda v: np.prod(v, where=MASK),
        lambda v: np.max(v, initial=10.0),
    ],
)
def test_keywords_that_no_formula_knows_are_refused(f):
    with pytest.raises(UnsupportedError, match=r"np\.\w+\(…, \w+=…\)"):
        gradient(f, V)


def test_bounds_of_clip_and_products_with_zeros():
    assert gradient(lambda hi: np.sum(np.clip(V, -0.5, hi)), 1.0) == (1.0,)
    assert gradient(lambda lo: np.clip(-3.0, lo, 1.0), -0.5) == (1.0,)
    assert gradient(lambda v: np.sum(np.clip(v, 0.0, None)), V)[0].tolist() == [1.0, 1.0, 0.0]
    assert gradient(lambda v: np.sum(v.clip(max=1.0)), V)[0].tolist() == [1.0, 0.0, 1.0]
    assert gradient(np.prod, np.array([0.0, 2.0, 3.0]))[0].tolist() == [6.0, 0.0, 0.0]
    assert gradient(lambda v: np.sum(np.prod(v, axis=0)), np.array([[0.0, 2.0], [3.0, 4.0]]))[0].tolist() == [
        [3.0, 4.0], [0.0, 2.0],
    ]  # fmt: skip


@pytest.mark.parametrize("f", [lambda v: v.tolist()[1] * 2.0, lambda v: math.frexp(v[0])[0]])
def test_what_has_no_rule_is_refused_and_not_taken_for_constant(f):
    with pytest.raises(Exception, match="no rule for"):
        gradient(f, V)
