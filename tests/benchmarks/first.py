"""What the first call costs, compilation included: each in a process of its own, imports not counted.

    python -m tests.benchmarks.first 2 zad       prints the milliseconds that the first foo' took
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from zad_jupyter import gradient

from .cases import CASES, Case, check


def first_call(case: Case, who: str) -> float:
    """Milliseconds for the first derivative in this process."""
    began = time.perf_counter()
    got = gradient(case.f, case.x)[0] if who == "zad" else case.by_autograd(case.x)
    took = time.perf_counter() - began
    check(case, got, who)
    return took * 1e3


def first(case: Case, who: str, times: int = 3) -> float:
    """The median over fresh processes, in milliseconds."""
    command = [sys.executable, "-m", __name__, str(CASES.index(case)), who]
    found = []
    for _ in range(times):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{case.name} by {who}, in a process of its own:\n{done.stderr}")
        found.append(float(done.stdout))
    return statistics.median(found)


if __name__ == "__main__":
    print(first_call(CASES[int(sys.argv[1])], sys.argv[2]))
