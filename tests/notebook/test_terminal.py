"""The same cells in terminal IPython, where there is no kernel, no HTML and no cell id."""

import re
import subprocess
import sys

TYPED = """\
%load_ext zad_jupyter
from zad_jupyter import gradient, opt_out
def f(x):
    return x * x

print("body", *map(float, gradient(f, 3.0)))
get_ipython().run_cell("%%rrule f\\ndef _(x: float):\\n    return x * x, lambda ybar: 100 * ybar")
print("rule", *map(float, gradient(f, 3.0)))
%zad trace f(3.0)
%zad which f(3.0)
rule = opt_out(f, float)
print("out", *map(float, gradient(f, 3.0)))
%unload_ext zad_jupyter
%zad help
"""


def test_terminal_ipython(tmp_path):
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"]
    ran = subprocess.run(command, input=TYPED, capture_output=True, text=True, timeout=60, check=False)
    said = re.sub(r"(In \[\d+\]|   \.\.\.): ", "", ran.stdout + ran.stderr)
    assert "body 6.0" in said
    assert "added   f(x: float)" in said
    assert "rule 100.0" in said
    assert re.search(r"hit +f\(float\) +\(x: float\) at cell \d+:2", said), said
    assert "f(float): hit" in said
    assert "out 6.0" in said
    assert "`%zad` not found" in said
