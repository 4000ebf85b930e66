"""Run without a person, as nbclient and nbconvert do, a notebook stops where a rule is wrong."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

START = "%load_ext zad_jupyter\ndef f(x):\n    return x * x"


def book(*cells: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("%%rrule f\ndef _(x: float):\n    y = x * x\n", "RuleDefinitionError"),
        ("%%rrule f\ndef _(x: float) return None", "SyntaxError"),
        ("%%rrule g\ndef _(x: float): return None", "UsageError"),
        ("%%rrule f\ndef _(x: float): return None\n1 / 0", "ZeroDivisionError"),
        ("%zad which f", "UsageError"),
    ],
)
def test_nbclient_stops_at_the_wrong_cell(cell, error):
    notebook = book(START, cell, "print('went on')")
    with pytest.raises(CellExecutionError, match=error):
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    assert notebook.cells[2].outputs == []


def test_a_right_notebook_runs_to_its_end():
    rule = "%%rrule f\ndef _(x: float):\n    return x * x, lambda ybar: 100 * ybar"
    notebook = book(START, rule, "from zad_jupyter import gradient\nprint(*map(float, gradient(f, 3.0)))")
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    assert notebook.cells[2].outputs[0].text.strip() == "100.0"
