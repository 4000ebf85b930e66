"""A stretch of code that Ctrl-C must not cut in two: the interrupt is noted, and delivered afterwards."""
from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end the block, and nothing else: a kernel that is idle ignores it, and would go down by it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Hold back SIGINT while the block runs; whatever handled it before gets it at the end.

    Python runs signal handlers in the main thread alone, so in any other thread this does nothing.

    Raises:
        KeyboardInterrupt: at the end of the block, if an interrupt came and the handler before raises it.
    """
    before = signal.getsignal(signal.SIGINT)
    # None: a handler that was not set from Python, and that Python could not put back.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
