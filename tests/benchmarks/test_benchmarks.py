"""The benchmarks measure what they say: right derivatives, edits that arrived, comparisons that tell slow from fast."""

import builtins
import math
import time

import pytest

from zad_jupyter.rules import registry

from . import edits
from .cases import CASES, check, foo
from .first import first
from .lookup import many
from .measure import Paired, timer
from .steady import steady

# Worked out on paper. foo(x) at 0.5 is 6x⁶ + 6·(-x)³, whose derivative is 36x⁵ - 18x².
EXPECTED = {
    "sin'(0.5)": math.cos(0.5),
    "f'(π)": 12 * math.pi**2 + 6 * math.pi + 2,
    "foo'(0.5)": 36 * 0.5**5 - 18 * 0.5**2,
    "sin''(0.5)": -math.sin(0.5),
    "sin'''(0.5)": -math.cos(0.5),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_written_by_hand_is_the_derivative(case):
    assert case.by_hand(case.x) == pytest.approx(EXPECTED[case.name], rel=1e-14)


@pytest.mark.parametrize("x", [-2.0, -0.5, 0.25, 1.5])
def test_foo_by_hand_agrees_with_differences_on_every_branch(x):
    slope = (foo(x + 1e-6) - foo(x - 1e-6)) / 2e-6
    by_hand = next(case.by_hand for case in CASES if case.f is foo)
    assert by_hand(x) == pytest.approx(slope, rel=1e-6)


def test_a_wrong_answer_is_not_timed():
    with pytest.raises(ValueError, match="not timed"):
        check(CASES[0], 0.87, "somebody")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_right_by_every_contender(case):
    assert steady(case, rounds=1).by_hand > 0      # steady checks each answer before it is timed


def test_a_ratio_tells_twice_the_work():
    times = Paired({"one": timer(time.sleep, 0.002), "two": timer(time.sleep, 0.004)}, rounds=3, batch=0.01)
    assert 1.5 < times.ratio("two", "one") < 2.5
    assert 0.001 < times.difference("two", "one") < 0.004


def test_the_first_call_is_taken_in_a_fresh_process():
    sin = CASES[0]
    steady(sin, rounds=1)                          # compiled here already: a few µs, were it the same process
    assert first(sin, "zad", times=1) > 0.5


def test_a_thousand_rules_are_all_there():
    assert many(times=1) > 0                       # counts them, and asks for the one in the middle


def test_a_save_of_each_style_reaches_the_registry():
    waits = edits.saves(times=1)
    assert len(waits) == len(edits.WAYS)
    assert min(waits) > 0


def test_a_save_that_changes_no_rule_is_not_timed():
    with pytest.raises(TimeoutError, match="not timed"):
        edits.saves(times=1, text=edits.RULES.replace("{slope}", "0.0"), deadline=0.3)


def test_a_save_that_brings_another_rule_is_not_timed():
    with pytest.raises(ValueError, match="not timed"):
        edits.saves(times=1, text=edits.RULES.replace("{slope}", "-{slope}"))


def test_modules_that_are_watched_without_changing_are_all_there():
    assert edits.unchanged(modules=120, cells=5) > 0  # counts them, and edits the last one


def test_a_change_drops_and_compiles_exactly_the_gradients_that_depend_on_it():
    assert edits.drops(gradients=200, depend=10, times=2).dropped == 10  # asks all 200 after each change


def test_reloads_that_take_longer_and_longer_are_found_out():
    busy = "sum(range(int({slope} > 2) * 20_000_000))\n"  # the third and the fourth time
    first, last = edits.reloads(count=4, beside=0, sample=2, text=busy + edits.RULES)
    assert last > 2 * first  # of the processor's time


def test_a_reload_that_does_not_arrive_is_not_timed():
    with pytest.raises(ValueError, match="not timed"):
        edits.reloads(count=1, beside=0, text=edits.RULES.replace("{slope}", "0.0"))


def test_a_module_that_keeps_a_megabyte_at_each_reload_is_found_out():
    keeps = "import builtins\nbuiltins.__dict__.setdefault('kept', []).append(bytes(1_000_000))\n"
    try:
        assert 2e6 <= edits.growth(count=4, beside=0, begin=2, text=keeps + edits.RULES) < 3e6
    finally:
        del vars(builtins)["kept"]
    assert edits.growth(count=4, beside=0, begin=2) < 1e6


def test_a_benchmark_of_edits_leaves_no_rule_behind():
    before = registry.rules()
    edits.reloads(count=1, beside=0, sample=1)
    edits.drops(gradients=20, times=1)
    assert registry.rules() == before
