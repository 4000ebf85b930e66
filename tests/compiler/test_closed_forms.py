"""Where calculus gives the answer, it is compared with that."""

from __future__ import annotations

import math

import pytest

from zad_jupyter import grad, gradient


def nth(f, n):
    for _ in range(n):
        f = grad(f)
    return f


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("x", [0.3, -1.7])
def test_derivatives_of_sin_go_round_in_fours(n: int, x: float) -> None:
    assert nth(math.sin, n)(x) == pytest.approx(math.sin(x + n * math.pi / 2), rel=1e-12)
    assert nth(lambda t: math.sin(t), n)(x) == pytest.approx(math.sin(x + n * math.pi / 2), rel=1e-12)


@pytest.mark.parametrize("n", range(1, 6))
def test_derivatives_of_a_power_written_as_a_loop(n: int) -> None:
    def seventh(x):
        y = 1
        for _ in range(7):
            y = y * x
        return y

    assert nth(seventh, n)(1.1) == pytest.approx(math.perm(7, n) * 1.1 ** (7 - n), rel=1e-12)


@pytest.mark.parametrize("n", range(1, 5))
def test_exp_is_its_own_derivative(n: int) -> None:
    assert nth(lambda x: math.exp(x), n)(0.4) == pytest.approx(math.exp(0.4), rel=1e-14)


@pytest.mark.parametrize("n", range(1, 5))
def test_logarithm(n: int) -> None:
    assert nth(math.log, n)(1.7) == pytest.approx((-1) ** (n - 1) * math.factorial(n - 1) / 1.7**n, rel=1e-13)


def test_product_rule_quotient_rule_chain_rule() -> None:
    f, g, x = (lambda t: math.sin(t)), (lambda t: t * t + 1), 0.6
    df, dg = math.cos(x), 2 * x
    assert grad(lambda t: f(t) * g(t))(x) == pytest.approx(df * g(x) + f(x) * dg)
    assert grad(lambda t: f(t) / g(t))(x) == pytest.approx((df * g(x) - f(x) * dg) / g(x) ** 2)
    assert grad(lambda t: f(g(t)))(x) == pytest.approx(math.cos(g(x)) * dg)


def test_inverse_function() -> None:
    assert grad(math.asin)(0.3) * grad(math.sin)(math.asin(0.3)) == pytest.approx(1.0)
    assert grad(math.acosh)(1.3) * grad(math.cosh)(math.acosh(1.3)) == pytest.approx(1.0)


def test_euler_on_a_homogeneous_function() -> None:
    def f(x, y, z):
        return (x**3 + x * y * z) / (y + z)

    point = (0.7, 1.2, 0.4)
    assert sum(a * b for a, b in zip(gradient(f, *point), point, strict=True)) == pytest.approx(2 * f(*point))


def test_mixed_derivatives_commute() -> None:
    def f(x, y):
        s = 0.0
        for i in range(3):
            s += math.sin(x * y + i) if x * i < y else x**2 * y
        return s

    xy = grad(lambda x, y: grad(f, 1)(x, y), 0)(0.7, 0.9)
    yx = grad(lambda x, y: grad(f, 0)(x, y), 1)(0.7, 0.9)
    assert xy == pytest.approx(yx, rel=1e-13)


def test_square_root_by_heron_has_the_derivative_of_the_square_root() -> None:
    def heron(a):
        x = a
        while abs(x * x - a) > 1e-13:
            x = (x + a / x) / 2
        return x

    assert grad(heron)(3.0) == pytest.approx(0.5 / math.sqrt(3.0), rel=1e-9)
    assert nth(heron, 2)(3.0) == pytest.approx(-0.25 * 3.0**-1.5, rel=1e-6)


def test_at_a_kink_the_branch_taken_counts() -> None:
    assert grad(lambda x: x if x > 0 else 0.0 * x)(0.0) == 0.0
    assert grad(lambda x: x if x >= 0 else 0.0 * x)(0.0) == 1.0
    assert grad(abs)(0.0) == 0.0


def test_power_at_zero() -> None:
    assert grad(lambda x: x**2)(0.0) == 0.0
    assert nth(lambda x: x**2, 2)(0.0) == 2.0
    assert nth(lambda x: x**3, 3)(0.0) == 6.0
    assert grad(lambda x: x**1)(0.0) == 1.0
    assert grad(lambda x: x**0)(0.0) == 0.0
