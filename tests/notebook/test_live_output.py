"""`%zad live EXPR`: an output recomputes itself, in place, when something that it depended on has changed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.notebook.kernel import Kernel, running_kernel

RULE = """
from zad_jupyter import rrule

def f(x):
    return x * x

@rrule(f)
def _(x: float):
    return f(x), lambda g: {} * g
"""


@pytest.fixture(scope="module")
def running():
    with running_kernel() as kernel:
        yield kernel


@pytest.fixture
def kernel(running: Kernel, tmp_path: Path) -> Kernel:
    running.ok("%reset -f")
    running.ok(f"import os, sys; os.chdir({str(tmp_path)!r}); sys.path.insert(0, {str(tmp_path)!r})")
    running.ok("%reload_ext zad_jupyter\nfrom zad_jupyter import gradient, registry, rrule\nimport time")
    running.ok("def f(x): return x * x\ndef g(x): return 5.0 * x")
    running.updates.clear()
    yield running
    running.ok("%zad live --stop")
    running.ok("%unload_ext zad_jupyter")
    running.ok("for rule in registry.rules():\n    rule.layer == 'user' and registry.remove(rule)")
    running.ok(f"sys.path.remove({str(tmp_path)!r})")


def test_it_follows_rules_functions_and_its_own_names_and_nothing_else(kernel):
    kernel.ok("a = 3.0")
    assert "(6.0,)" in kernel.ok("%zad live gradient(f, a)", "live")
    kernel.ok("%%rrule f\ndef _(x: float): return f(x), lambda y: 10.0 * y", "rule")
    assert kernel.updated().startswith("(10.0,)\nlive: gradient(f, a), at ")
    kernel.ok("%%rrule g\ndef _(x: float): return g(x), lambda y: 10.0 * y", "other")
    kernel.ok("1 + 1")
    assert kernel.updated(0.5) == ""
    kernel.ok("from zad_jupyter import opt_out\nopt_out(f, float)", "out")
    assert kernel.updated().startswith("(6.0,)")
    kernel.ok("a = 5.0")
    assert kernel.updated().startswith("(10.0,)")
    kernel.ok("def f(x): return x * x * x", "new f")
    assert kernel.updated().startswith("(75.0,)")
    assert kernel.updated(0.5) == ""


def test_it_follows_a_file_while_the_kernel_is_idle_once_for_a_batch(kernel, tmp_path):
    (tmp_path / "lively.py").write_text(RULE.format("1.0"))
    kernel.ok("import lively")
    assert "(1.0,)" in kernel.ok("%zad live gradient(lively.f, 3.0)", "live")
    (tmp_path / "lively.py").write_text(RULE.format("2.0"))
    assert kernel.updated().startswith("(2.0,)")
    assert kernel.updated(0.7) == ""
    (tmp_path / "lively.py").write_text(RULE.format("2.0 / (x - 3.0)"))
    assert kernel.updated().startswith("ZeroDivisionError")
    (tmp_path / "lively.py").write_text(RULE.format("4.0"))
    assert kernel.updated().startswith("(4.0,)")
    kernel.ok("import os; os.remove('lively.py'); del sys.modules['lively']")


def test_it_is_never_set_off_by_itself(kernel):
    kernel.ok(
        "count = 0\ndef counting():\n    global count\n    count += 1\n"
        "    rrule(g)(lambda x: (x, lambda y: count * y))\n    return gradient(g, 1.0)"
    )
    kernel.ok("%zad live counting()", "live")
    for _ in range(3):
        kernel.ok("1 + 1")
    assert int(kernel.ok("count")) <= 2
    assert len(kernel.updates) <= 1


def test_what_takes_long_waits_to_be_asked_for(kernel):
    kernel.ok("def slow(x):\n    time.sleep(1.1)\n    return gradient(f, x)")
    assert "(6.0,)" in kernel.ok("%zad live slow(3.0)", "live")
    kernel.ok("%%rrule f\ndef _(x: float): return f(x), lambda y: 10.0 * y", "rule")
    assert "out of date" in kernel.updated()
    kernel.ok("%zad live --now")
    assert kernel.updated().startswith("(10.0,)")


def test_it_ends_when_stopped_and_when_its_cell_runs_again(kernel):
    kernel.ok("%zad live gradient(f, 3.0)", "live")
    kernel.ok("%zad live gradient(f, 4.0)", "live")
    assert "ended: its cell was run again" in kernel.updated()
    kernel.ok("%%rrule f\ndef _(x: float): return f(x), lambda y: 10.0 * y", "rule")
    assert kernel.updated().startswith("(10.0,)\nlive: gradient(f, 4.0)")
    assert kernel.updated(0.5) == ""
    assert "stopped 1 live output" in kernel.ok("%zad live --stop")
    assert "stopped" in kernel.updated()
    kernel.ok("%%rrule f\ndef _(x: float): return f(x), lambda y: 11.0 * y", "rule")
    assert kernel.updated(0.5) == ""
    assert "there is no live output" in kernel.ok("%zad live --stop")


def test_an_interrupt_ends_it(kernel):
    kernel.ok("wait = 0.0\ndef waiting(x):\n    time.sleep(wait)\n    return gradient(f, x)")
    kernel.ok("%zad live waiting(3.0)", "live")
    kernel.ok("import signal, threading\nwait = 0.9\n"
              "threading.Timer(0.6, lambda: signal.raise_signal(signal.SIGINT)).start()\n"
              "def f(x): return x * x * 2.0")  # fmt: skip
    assert "stopped by an interrupt" in kernel.updated()
    time.sleep(0.2)
    assert kernel.ok("1 + 1") == "2\n"


@pytest.mark.parametrize("wrong", ["%zad live", "%zad live 1 +", "%zad live --nonsense", "%zad live undefined_name"])
def test_what_cannot_be_computed_is_an_error_of_the_cell(kernel, wrong):
    assert kernel(wrong).status == "error"
