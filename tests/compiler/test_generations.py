"""A gradient keeps the rules that there were when it started, from its first call to its last pullback."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from zad_jupyter import grad, gradient, pullback, rrule
from zad_jupyter.rules import registry


def left(x: float) -> float:
    return 1.0 * x


def right(x: float) -> float:
    return 1.0 * x


def inner(x: float) -> float:
    return 1.0 * x


def bystander(x: float) -> float:
    return 1.0 * x


class Holder:
    """Attributes of an object are known to the compiler only when it runs: such calls choose at run time."""

    def __init__(self, value: Any) -> None:
        self.value = value


def set_slopes(k: float) -> None:
    """One change of rules: `left` and `right` get the slope k, `inner` too."""
    with registry.transaction("slopes"):
        for f in (left, right, inner):
            rrule(f)(_rule(f, k))


def _rule(f: Callable[[float], float], k: float) -> Callable[..., Any]:
    def rule(x: object) -> Any:
        return 1.0 * x, lambda ybar: k * ybar

    return rule


@pytest.fixture(autouse=True)
def no_rules_are_left():
    set_slopes(2.0)
    yield
    for owner in ("slopes", "bystander"):
        with registry.transaction(owner):
            pass


def chosen_when_compiled(x, change):
    y = left(x)
    change()
    return y + right(x)


def chosen_when_run(x, change):
    y = Holder(left).value(x)
    change()
    return y + Holder(right).value(x)


def through_a_gradient_within(x, change):
    y = x * gradient(inner, 1.0)[0]
    change()
    return y + x * gradient(inner, 1.0)[0]


derivative_of_inner = grad(inner)


def through_a_derivative_that_was_there(x, change):
    y = x * derivative_of_inner(1.0)
    change()
    return y + x * derivative_of_inner(1.0)


def through_a_plain_call(x, change):
    y = x * slope_of_inner()
    change()
    return y + x * slope_of_inner()


def slope_of_inner():
    return gradient(inner, 1.0)[0]


@pytest.mark.parametrize(
    "f", [chosen_when_compiled, chosen_when_run, through_a_gradient_within, through_a_derivative_that_was_there,
          through_a_plain_call],
)  # fmt: skip
def test_rules_that_change_while_a_gradient_runs_take_effect_at_the_next(f):
    for k in (3.0, 5.0, 7.0):
        set_slopes(k)
        assert gradient(f, 1.0, lambda k=k: set_slopes(k + 1)) == (2 * k, None)
        assert gradient(f, 1.0, lambda: None) == (2 * k + 2, None)


@pytest.mark.parametrize("f", [chosen_when_compiled, chosen_when_run])
def test_a_pullback_keeps_its_rules(f):
    _, back = pullback(f, 1.0, lambda: None)
    set_slopes(3.0)
    assert back(1.0)[0] == 4.0
    assert gradient(f, 1.0, lambda: None)[0] == 6.0
    assert back(1.0)[0] == 4.0


def test_a_pullback_that_takes_gradients_itself_takes_them_by_the_rules_of_its_value():
    def outer(x):
        return x

    with registry.transaction("outer"):

        @rrule(outer)
        def _(x: object) -> Any:
            return x, lambda ybar: ybar * gradient(inner, 1.0)[0]

    try:
        _, back = pullback(outer, 1.0)
        set_slopes(3.0)
        assert back(1.0) == (2.0,)
        assert gradient(outer, 1.0) == (3.0,)
        assert back(1.0) == (2.0,)
    finally:
        with registry.transaction("outer"):
            pass


def difference(x):
    return Holder(left).value(x) - right(x) + x * (gradient(inner, 1.0)[0] - slope_of_inner())


def test_eight_threads_and_ten_thousand_changes_of_rules_never_mix_two_states():
    threads, changes = 8, 10_000
    wrong: list[Any] = []
    done = threading.Event()
    rounds = [0] * threads

    def work(number: int) -> None:
        while not done.is_set() or not rounds[number]:
            try:
                for value in (gradient(difference, 1.0)[0], pullback(difference, 1.0)[1](1.0)[0]):
                    if value != 0.0:
                        wrong.append(value)
            except BaseException as error:
                wrong.append(error)
                return
            rounds[number] += 1
            time.sleep(0.002)  # else nine threads in one interpreter leave the one that changes rules a ninth

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    workers = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(threads)]
    try:
        for worker in workers:
            worker.start()
        for change in range(changes):
            if change % 10:  # a rule that no gradient depends on
                with registry.transaction("bystander"):
                    rrule(bystander)(_rule(bystander, float(change)))
            else:
                set_slopes(float(change % 7))
            if wrong:
                break
    finally:
        done.set()
        for worker in workers:
            worker.join(60)
        sys.setswitchinterval(interval)
    print(f"{sum(rounds)} rounds of gradients during {changes} changes of rules")
    assert not wrong, wrong[:3]
    assert not any(worker.is_alive() for worker in workers)
    assert min(rounds) > 0
