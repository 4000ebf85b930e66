"""Ctrl-C waits for the end of what it must not cut in two."""
from __future__ import annotations

import os
import signal
import threading

import pytest

from zad_jupyter.live.interrupt import deferred_interrupt


def test_an_interrupt_waits_for_the_end() -> None:
    steps: list[int] = []

    def work() -> None:
        with deferred_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            steps.extend(step for step in range(1000))    # plenty of chances for a handler to run
        steps.append(-1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert len(steps) == 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_deferring_in_another_thread_changes_nothing() -> None:
    seen = []

    def work() -> None:
        with deferred_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
