"""Programs at random, differentiated once and twice, against differences. ZAD_PROGRAMS=3000 looks further."""

from __future__ import annotations

import importlib.util
import itertools
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.compiler.differences import slope
from tests.compiler.random_programs import Writer
from zad_jupyter import gradient, value_and_grad
from zad_jupyter.rules import NoRuleError, UnsupportedError

PROGRAMS = int(os.environ.get("ZAD_PROGRAMS", "150"))
SECONDS = 2  # for one program, plain calls included
ALTOGETHER = float(os.environ.get("ZAD_SECONDS", "35"))
POINTS = [(0.7131, -0.4519), (-1.3177, 0.6243), (1.9071, 1.1523)]  # not round: programs are full of round numbers
numbers = itertools.count()


class TooLong(BaseException):
    """Not an Exception: the program's own handlers must not catch it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLong after so many seconds."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)  # again and again: a callback of gc swallows it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def load(source: str, folder: Path) -> Any:
    """The module with this source, from a real file, where its functions are found again."""
    name = f"program_{next(numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def differences(f: Any, x: float, y: float) -> tuple[float, float] | None:
    """Both partial derivatives, or None near a kink or a jump: where four sizes of step disagree."""
    found = []
    for along, at in ((lambda t: f(t, y), x), (lambda t: f(x, t), y)):
        tried = [slope(along, at, h) for h in (1e-3, 7e-4, 3e-4, 1.3e-4)]
        if not all(math.isfinite(d) and abs(d) < 1e4 for d in tried):
            return None
        if max(tried) - min(tried) > 1e-6 * (1 + abs(tried[0])):
            return None
        h = 1e-5
        if abs(along(at + h) - 2 * along(at) + along(at - h)) / h > 1e-2 * (1 + abs(tried[0])):
            return None  # a kink with the point right on it
        found.append(tried[1])
    return found[0], found[1]


def compare(f: Any, x: float, y: float, tolerance: float) -> bool:
    """Whether f could be compared at this point; fails where its gradient is wrong."""
    try:
        value = f(x, y)
        want = differences(f, x, y)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError, NameError):
        return False
    if want is None or isinstance(value, complex):
        return False
    try:
        got = gradient(f, x, y)
    except ZeroDivisionError:
        return False  # the root of 0 is in it, which has no slope
    assert got == pytest.approx(want, rel=tolerance, abs=tolerance), f"{f.__name__}({x}, {y})"
    again, both = value_and_grad(f, (0, 1))(x, y)
    assert again == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert both == pytest.approx(got, rel=1e-12, abs=1e-12)
    return True


def examine(module: Any) -> int:
    """Compare all derivatives of a program; gives how many points could be compared."""
    compared = 0
    for x, y in POINTS:
        try:
            with limit(SECONDS):
                if compare(module.f, x, y, 1e-5):
                    compared += 1
                    compare(module.slope, x, y, 1e-4)
        except (UnsupportedError, NoRuleError, TooLong):
            break
    return compared


@pytest.mark.timeout(max(300, int(2 * ALTOGETHER)))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="needs signals")
def test_random_programs(tmp_path: Path) -> None:
    outcomes: list[int] = []
    end = time.monotonic() + ALTOGETHER

    @settings(
        max_examples=PROGRAMS, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(st.data())
    def run(data: Any) -> None:
        random = data.draw(st.randoms(use_true_random=False, note_method_calls=False))
        writer = Writer(random.randrange, size=2, depth=2)
        writer.left = 7
        source = writer.program()
        if time.monotonic() > end:
            return  # after drawing: what is drawn must not depend on the clock
        try:
            outcomes.append(examine(load(source, tmp_path)))
        except Exception as error:
            error.add_note(source)
            raise

    run()
    assert sum(map(bool, outcomes)) > len(outcomes) / 2, "too few of the programs could be compared"
    assert len(outcomes) > 20
