"""Constants that meet in a product become one: the derivative is as short as one by hand, and gives the same bits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from zad_jupyter import adjoint_source, gradient
from zad_jupyter.compiler.fold import exactly

NUMBERS = [0.1, 0.5, 1 / 3, 1.0, math.pi, 5e-324, 2.3e-308, 1.7e308, 8.9e307, 3e307, -7.25, 0.0, math.inf]


@pytest.mark.parametrize(("a", "b"), [(3.0, 2.0), (4.0, 3.0), (-8.0, 11.0), (1.1, -8.0), (2.0, 2.0), (64.0, 1e300)])
def test_one_factor_gives_the_bits_of_two(a: float, b: float) -> None:
    both = exactly(a, b)
    assert both is not None
    assert [a * (b * x) for x in NUMBERS] == [both * x for x in NUMBERS]


@pytest.mark.parametrize(("a", "b"), [(3.0, 5.0), (8.0, 1.1), (0.5, 3.0), (3.0, 0.25), (1e300, 1e300), (0.0, 2.0)])
def test_two_factors_that_round_twice_stay_two(a: float, b: float) -> None:
    assert exactly(a, b) is None


def test_a_polynomial_has_the_derivative_that_one_writes() -> None:
    source = adjoint_source(lambda x: 4 * x**3 + 3 * x**2, 1.5)
    assert "12.0 * " in source
    assert "6.0 * x" in source


def test_a_product_in_a_loop_is_of_that_round() -> None:
    def f(x: float) -> float:
        total = 0.0
        for _ in range(3):
            twice = 2 * x
            x = x * x
            total = total + 3.0 * twice + 4.0 * (3 * x)
        return total

    x = Fraction(5, 4)  # 6(x + x² + x⁴) + 12(x² + x⁴ + x⁸)
    right = 6 * (1 + 2 * x + 4 * x**3) + 12 * (2 * x + 4 * x**3 + 8 * x**7)
    assert gradient(f, 1.25)[0] == pytest.approx(float(right), rel=1e-14)
