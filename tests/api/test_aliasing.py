"""Gradients are the caller's own: they share no memory with arguments, with one another, or with later calls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from zad_jupyter import grad, gradient, pullback, value_and_grad

A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])

FUNCTIONS = {
    "sum of a sum": lambda a, b: np.sum(a + b),
    "product": lambda a, b: a @ b,
    "product of elements": lambda a, b: np.sum(a * b),
    "one argument unused": lambda a, b: np.sum(a),
    "views": lambda a, b: np.sum(a[1:] * b[:-1]) + a[0],
    "reshaped": lambda a, b: np.sum(a.reshape(3, 1) * b.reshape(3, 1)),
    "the same twice": lambda a, b: np.sum(a) + np.sum(b) + np.sum(a),
    "transposed": lambda a, b: np.sum(a.T * b.T),
    "concatenated": lambda a, b: np.sum(np.concatenate([a, b])),
}


def arrays(parts):
    return [part for part in parts if isinstance(part, np.ndarray)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_share_memory_with_nothing(name):
    f = FUNCTIONS[name]
    a, b = A.copy(), B.copy()
    grads = arrays(gradient(f, a, b))
    for one, other in itertools.combinations([a, b, *grads], 2):
        assert not np.shares_memory(one, other)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_can_be_written_to_and_nothing_else_changes(name):
    f = FUNCTIONS[name]
    a, b = A.copy(), B.copy()
    first = [part.copy() for part in gradient(f, a, b)]
    grads = gradient(f, a, b)
    for part in grads:
        part += 100.0
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(b, B)
    for part, again in zip(first, gradient(f, a, b), strict=True):
        np.testing.assert_array_equal(part, again)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_array_twice(name):
    f = FUNCTIONS[name]
    one, other = gradient(f, A, A)
    want = gradient(f, A, A.copy())
    assert not np.shares_memory(one, other)
    np.testing.assert_allclose(one, want[0])
    np.testing.assert_allclose(other, want[1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_calls_of_a_pullback_share_nothing_with_each_other_or_the_seed(name):
    f = FUNCTIONS[name]
    _, back = pullback(f, A, B)
    first, second = back(1.0), back(1.0)
    for one, other in zip(first, second, strict=True):
        assert not np.shares_memory(one, other)
        np.testing.assert_array_equal(one, other)
        one += 1.0
    for one, other in zip(back(1.0), second, strict=True):
        np.testing.assert_array_equal(one, other)


PASSING_ON = {
    "itself": lambda a: a,
    "plus one": lambda a: a + 1.0,
    "transposed": lambda a: a.T,
    "sliced": lambda a: a[:],
    "reshaped": lambda a: np.reshape(a, (3,)),
}


@pytest.mark.parametrize("name", PASSING_ON)
def test_a_seed_is_not_handed_out_as_a_cotangent(name):
    _, back = pullback(PASSING_ON[name], A.copy())
    seed = np.ones(3)
    (g,) = back(seed)
    assert not np.shares_memory(g, seed)
    np.testing.assert_array_equal(g, seed)


def test_the_value_of_identity_is_not_its_gradient():
    x = np.array(2.0)
    value, g = value_and_grad(lambda v: v)(x)
    g += 1.0
    assert value == 2.0
    assert x == 2.0


def test_parts_of_structures_share_nothing():
    params = [A.copy(), (B.copy(), A.copy())]
    (g,) = gradient(lambda p: np.sum(p[0] + p[1][0] + p[1][1]), params)
    parts = [g[0], *g[1], params[0], *params[1]]
    for one, other in itertools.combinations(parts, 2):
        assert not np.shares_memory(one, other)


def test_a_constant_gradient_is_new_each_time():
    f = grad(lambda a: np.sum(a))
    first = f(A)
    first += 1.0
    np.testing.assert_array_equal(f(A), np.ones(3))


def test_gradients_are_writable_and_own_their_memory():
    for f in (lambda a: np.sum(a), lambda a: np.mean(a), lambda a: np.sum(np.broadcast_to(a, (2, 3))), lambda a: 1.0):
        (g,) = gradient(f, A)
        assert g.flags.writeable
        g[0] = 7.0
        assert g[1] != 7.0


def test_arguments_are_never_written_to():
    a = A.copy()
    a.flags.writeable = False
    gradient(lambda v: np.sum(np.exp(v) * v[::-1]) + v[0] ** 2, a)
    np.testing.assert_array_equal(a, A)
