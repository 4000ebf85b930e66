"""Each face shows the same tree: text, HTML, JSON."""

import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from zad_jupyter.compiler.calls import Call
from zad_jupyter.trace import Node, Trace, html, text, to_json, tree

SHIPPED = SimpleNamespace(name="np.tanh(x: ndarray)", signature="(x: ndarray)", layer="shipped", place="numpy.py:3")
OPT_OUT = SimpleNamespace(name="det(a: Tri)", signature="(a: Tri)", layer="user", place="rules.py:12")


def example() -> Call:
    diag = Call("hit", "np.diag", ("Tri",), SHIPPED, "lib.py", 9, [], 1)
    det = Call("opted-out", "det", ("Tri",), OPT_OUT, "model.py", 5, [diag], 1)
    tanh = Call("hit", "np.tanh", ("ndarray",), SHIPPED, "model.py", 6, [], 12)
    return Call("recursed", "loss", ("ndarray",), None, "model.py", 1, [tanh, det], 1)


class Outline(HTMLParser):
    """The nesting of an HTML fragment; fails when a tag is not closed in order."""

    VOID = frozenset({"br"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_text_has_a_row_for_each_call_in_three_columns():
    assert text(tree(example())) == "\n".join(
        [
            "recursed   loss(ndarray)                                       model.py:1",
            "├ hit        np.tanh(ndarray)  ×12   shipped                   model.py:6",
            "└ opted out  det(Tri)                (a: Tri) at rules.py:12   model.py:5",
            "  └ hit        np.diag(Tri)          shipped                   lib.py:9",
        ]
    )


def test_text_without_any_rule_has_no_empty_column():
    assert text(Node("recursed", "f", ("float",), place="m.py:1")) == "recursed   f(float)   m.py:1"


def test_text_keeps_a_note_to_its_first_line():
    shown = text(Node("error", "f", note="NoRuleError: write a rule\nwith details"))
    assert shown.endswith("— NoRuleError: write a rule")


def test_text_says_what_was_left_out():
    assert text(Node("recursed", "f", hidden=7)).splitlines()[-1] == "└ … 7 more calls"


def test_html_is_details_without_script_and_well_nested():
    outline = Outline(html(tree(example())))
    assert set(outline.tags) <= {"div", "details", "summary", "b", "code", "span", "i", "pre"}
    assert outline.tags.count("details") == 2, "two calls have children"


def test_html_says_the_outcome_in_words_and_not_by_colour_alone():
    words = " ".join(Outline(html(tree(example()))).words)
    for said in ("✓ hit", "↷ opted out", "↓ recursed", "×12", "(a: Tri) at rules.py:12", "model.py:5"):
        assert said in words


@pytest.mark.parametrize("where", ["function", "note", "rule", "place", "signature"])
def test_html_escapes_what_comes_from_the_user(where):
    evil = "<script>alert(1)</script>&\""
    node = Node("hit", **({"function": "f", "rule": "r", "rule_place": "p"} | {where: evil}))
    assert "<script" not in html(node, title=evil, footer=evil)
    Outline(html(node, title=evil, footer=evil))


def test_html_survives_nbconvert():
    nbformat = pytest.importorskip("nbformat")
    nbconvert = pytest.importorskip("nbconvert")
    output = nbformat.v4.new_output("display_data", {"text/html": html(tree(example()))})
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[output])])
    page, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    assert "<details" in page
    assert "opted out" in page


def test_large_trees_are_closed_at_first():
    wide = Node("recursed", "f", children=tuple(Node("hit", "g", children=(Node("hit", f"h{i}"),)) for i in range(100)))
    assert html(wide).count("<details open") == 1


def test_json_has_the_keys_the_panel_reads():
    made = to_json(tree(example()))
    assert list(made) == ["outcome", "function", "types", "rule", "rulePlace", "place", "count", "note", "children"]
    assert made["children"][1] | {"children": []} == {
        "outcome": "opted-out",
        "function": "det",
        "types": ["Tri"],
        "rule": "det(a: Tri)",
        "rulePlace": "rules.py:12",
        "place": "model.py:5",
        "count": 1,
        "note": "",
        "children": [],
    }
    assert json.loads(json.dumps(made)) == made


def test_json_is_what_the_schema_says():
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(__file__).parents[2] / "docs" / "reference" / "trace.schema.json"
    schema = json.loads(path.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    validator.validate(to_json(tree(example())))
    validator.validate(to_json(Node("recursed", "f", hidden=3)))
    for wrong in ({"outcome": "maybe"}, {"count": -1}, {"children": None}, {"surprise": 1}):
        assert list(validator.iter_errors(to_json(tree(example())) | wrong)), wrong


def test_a_trace_shows_the_tree_and_the_error_that_ended_it():
    root = Call("error", "f", ("float",), None, "m.py", 1, [], 1, "")
    trace = Trace(root=root, error=ValueError("math domain error"))
    assert str(trace).splitlines() == ["error      f(float)   m.py:1", "ValueError: math domain error"]
    assert "math domain error" in trace._repr_html_()
    assert trace.to_json()["outcome"] == "error"


def test_a_trace_without_calls_says_so():
    assert str(Trace(1.0, (0.0,))) == "(no call was made)"
    assert Trace(1.0, (0.0,)).to_json() is None
    Outline(Trace(1.0, (0.0,))._repr_html_())
