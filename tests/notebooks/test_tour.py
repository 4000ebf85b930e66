"""The tour runs from top to bottom in a real kernel and says what its text promises."""

import math
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"


@pytest.fixture(scope="module")
def sections():
    """The executed code cells by section number: lists of (source, words)."""
    notebook = nbformat.read(TOUR, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    found: dict[int, list[tuple[str, str]]] = {}
    number = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = re.search(r"^## (\d+)\.", cell.source, re.MULTILINE)
            number = int(heading[1]) if heading else number
        else:
            found.setdefault(number, []).append((cell.source, "\n".join(map(words, cell.outputs))))
    return found


def words(output):
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.text if output.output_type == "stream" else output.data.get("text/plain", "")


def arrays(said):
    """Every array in a text, as a list of numbers."""
    return [[float(n) for n in inside.split(",")] for inside in re.findall(r"\[([-+.\d, e]+)\]", said)]


def test_the_tour_has_ten_sections(sections):
    assert sorted(sections) == list(range(1, 11))


def test_the_notebook_is_stored_without_outputs():
    notebook = nbformat.read(TOUR, as_version=4)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")


def test_only_the_cells_that_say_so_fail(sections):
    failing = [number for number, cells in sections.items() for _, said in cells if re.match(r"\w+Error: ", said)]
    assert failing == [7, 8]


def test_without_a_rule_the_body_gives_twice_a(sections):
    assert arrays(sections[1][0][1]) == [[1, 6]]


def test_the_rule_is_hit_and_nothing_below_it_is_looked_at(sections):
    assert "added" in sections[2][0][1]
    tree = sections[2][1][1].strip().splitlines()
    assert len(tree) == 1
    assert tree[0].startswith("hit        foo(ndarray)")


def test_the_rule_for_arrays_is_wrong_for_the_subclass(sections):
    assert "1.25" in sections[3][0][1]
    assert arrays(sections[3][0][1]) == [[1, 6]]


def test_opting_out_goes_through_the_body(sections):
    assert arrays(sections[4][0][1]) == [[1, 0]]
    assert sections[4][1][1].strip().startswith("opted out  foo(Capped)")


def test_opting_out_reaches_a_gradient_that_was_taken_before(sections):
    assert arrays(sections[5][0][1]) == [[10, 60], [10, 0]]


def test_none_opts_out_for_some_values(sections):
    assert arrays(sections[6][0][1]) == [[1, 1.6], [1, 0]]


def test_a_forgotten_return_is_refused_with_what_to_write(sections):
    assert "RuleDefinitionError" in sections[7][0][1]
    assert "return None" in sections[7][0][1]


def test_an_ambiguity_names_both_rules_and_what_would_settle_it(sections):
    said = sections[8][0][1]
    assert "AmbiguousRuleError" in said
    assert "mix(x: ndarray, y)" in said
    assert "mix(x, y: ndarray)" in said
    assert "mix(ndarray, ndarray)" in said


def test_which_and_the_generated_code_are_shown(sections):
    assert "foo(a: Capped)" in sections[9][0][1]
    compile(sections[9][1][1], "adjoint", "exec")


def test_sin_and_its_derivatives(sections):
    rows = [[float(n) for n in line.split()] for line in sections[10][0][1].strip().splitlines()]
    right = [math.sin(0.5), math.cos(0.5), -math.sin(0.5), -math.cos(0.5)]
    assert [row[0] for row in rows] == pytest.approx(right, abs=1e-12)
