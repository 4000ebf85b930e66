"""Every rule of numbers that ships, against differences: each argument, first and second order, several points."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import pytest

from tests.compiler.differences import slope
from zad_jupyter import grad, gradient, registry

POINTS = (-2.3, -0.6, 0.35, 0.8, 1.7, 3.2)


def shipped() -> list[Any]:
    """The rules with a partial derivative for each argument, of functions that take numbers."""
    found = []
    for rule in registry.rules():
        if rule.layer == "shipped" and rule.kind == "expression" and "scalars.py" in str(rule.place):
            if "complex" not in rule.signature:
                found.append(pytest.param(rule.target, rule.signature.count(":"), id=rule.name))
    return found


def along(f: Any, point: tuple[float, ...], i: int) -> Any:
    """f as a function of argument i alone."""
    if len(point) == 1:
        return lambda t: f(t)
    a, b = point
    return (lambda t: f(t, b)) if i == 0 else (lambda t: f(a, t))


def first_along(f: Any, i: int, point: tuple[float, ...], j: int) -> Any:
    """The derivative of f with respect to argument i, as a function of argument j alone."""
    if len(point) == 1:
        return lambda t: grad(f)(t)
    a, b = point
    return (lambda t: grad(f, i)(t, b)) if j == 0 else (lambda t: grad(f, i)(a, t))


def applicable(f: Any, n: int) -> list[tuple[float, ...]]:
    """Points around which f is defined and smooth: two sizes of step agree."""
    found = []
    for point in itertools.product(POINTS, repeat=n):
        if f in (max, min) and point[0] == point[1]:
            continue  # a kink that differences do not see
        try:
            for i in range(n):
                one = along(f, point, i)
                a, b = slope(one, point[i], 1e-3), slope(one, point[i], 5e-4)
                if isinstance(a, complex) or not math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6):
                    raise ValueError
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            continue
        found.append(point)
    return found


def test_there_are_rules_for_all_of_arithmetic() -> None:
    targets = {param.values[0] for param in shipped()}
    assert targets >= {operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, abs}
    assert len(targets) > 40


@pytest.mark.parametrize(("f", "n"), shipped())
def test_first_derivatives(f: Any, n: int) -> None:
    if f is math.ldexp:
        assert gradient(lambda x: math.ldexp(x, 3), 1.5) == (8.0,)
        return
    points = applicable(f, n)
    assert points
    for point in points:
        for i in range(n):
            one = along(f, point, i)
            want = pytest.approx(slope(one, point[i]), rel=1e-7, abs=1e-7)
            assert gradient(f, *point)[i] == want, (point, i)
            assert grad(one)(point[i]) == want, (point, i)


@pytest.mark.parametrize(("f", "n"), shipped())
def test_second_derivatives(f: Any, n: int) -> None:
    if f is math.ldexp:
        assert grad(grad(lambda x: math.ldexp(x * x, 3)))(1.5) == 16.0
        return
    for point in applicable(f, n):
        for i, j in itertools.product(range(n), repeat=2):
            first = first_along(f, i, point, j)
            try:
                want = slope(first, point[j])
            except ValueError:
                continue
            assert grad(first)(point[j]) == pytest.approx(want, rel=1e-7, abs=1e-7), (point, i, j)


@pytest.mark.parametrize(("f", "n"), shipped())
def test_ints_are_lifted(f: Any, n: int) -> None:
    if f is math.ldexp:
        return
    for point in itertools.product((1, 2, 3), repeat=n):
        try:
            floats = gradient(f, *map(float, point))
            f(*point)
        except (ValueError, ZeroDivisionError, TypeError):
            continue
        ints = gradient(f, *point)
        assert ints == pytest.approx(floats, rel=1e-12)
        assert all(isinstance(part, float) for part in ints)


def test_conventions_at_kinks_and_edges() -> None:
    assert gradient(abs, 0.0) == (0.0,)
    assert gradient(lambda x: x**2, 0.0) == (0.0,)
    assert gradient(lambda x: x**0, 0.0) == (0.0,)
    assert gradient(lambda x: x**1, 0.0) == (1.0,)
    assert gradient(lambda x: 0.0**x, 2.0) == (0.0,)
    assert gradient(max, 1.0, 1.0) == (1.0, 0.0)
    assert gradient(min, 1.0, 1.0) == (1.0, 0.0)
    assert gradient(math.fabs, 0.0) == (0.0,)


def test_a_gradient_that_does_not_exist_is_an_error_or_infinite() -> None:
    for f in (math.sqrt, lambda x: x**0.5):
        try:
            assert math.isinf(gradient(f, 0.0)[0])
        except ZeroDivisionError:
            pass


def test_a_negative_base_has_a_slope_and_its_exponent_none() -> None:
    assert gradient(lambda x: x**3, -2.0) == (12.0,)
    assert gradient(lambda x: x**3.0, -2.0) == (12.0,)
    with pytest.raises(ValueError, match=r"domain|positive"):
        gradient(lambda b: (-2.0) ** b, 3.0)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_lists_of_numbers(k: int) -> None:
    xs = [0.5 + i * i for i in range(k)]
    assert gradient(sum, xs) == ([1.0] * k,)
    assert gradient(math.fsum, xs) == ([1.0] * k,)
    assert gradient(math.prod, xs)[0] == pytest.approx([math.prod(xs) / x for x in xs])
    assert gradient(max, xs) == ([0.0] * (k - 1) + [1.0],)
    assert gradient(min, tuple(xs)) == ((1.0, *[0.0] * (k - 1)),)
    assert gradient(lambda v: sum(v, v[0]), xs) == ([2.0] + [1.0] * (k - 1),)
    assert gradient(lambda v: sum(v[1:] + v[:1]), xs) == ([1.0] * k,)


def test_a_product_with_zeros_in_it() -> None:
    assert gradient(math.prod, [0.0, 2.0, 3.0]) == ([6.0, 0.0, 0.0],)
    assert gradient(math.prod, [0.0, 0.0, 3.0]) == ([0.0, 0.0, 0.0],)
