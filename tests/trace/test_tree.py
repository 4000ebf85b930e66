"""The tree folds what is equal, counts what it leaves out, and keeps nothing of the user's."""

from types import SimpleNamespace

from zad_jupyter.compiler.calls import Call
from zad_jupyter.trace import Limits, summary, tree


def call(outcome="hit", function="np.tanh", types=("ndarray",), line=6, count=1, children=(), rule=None, note=""):
    return Call(outcome, function, types, rule, "rules_of_mine.py", line, list(children), count, note)


def test_identical_siblings_are_one_row_that_says_how_often():
    node = tree(call("recursed", "loss", children=[call() for _ in range(1000)]))
    assert [(child.call, child.count, child.times) for child in node.children] == [
        ("np.tanh(ndarray)", 1000, "×1\u202f000")
    ]


def test_counts_of_the_compiler_are_added():
    node = tree(call(children=[call(count=12), call(count=3)]))
    assert node.children[0].count == 15


def test_siblings_fold_across_others_in_the_order_of_their_first():
    node = tree(call(children=[call(function="a"), call(function="b"), call(function="a")]))
    assert [(child.function, child.count) for child in node.children] == [("a", 2), ("b", 1)]


def test_what_differs_in_any_respect_stays_apart():
    plain = call()
    others = [
        call(outcome="inactive"),
        call(function="np.sin"),
        call(types=("float",)),
        call(line=7),
        call(note="look"),
        call(rule=SimpleNamespace(name="tanh(x)", signature="(x)", layer="shipped", place=None)),
        call(children=[call()]),
    ]
    assert len(tree(call(children=[plain, *others])).children) == 1 + len(others)


def test_folded_siblings_fold_their_children_too():
    layer = [call("recursed", "layer", children=[call(), call()]) for _ in range(3)]
    (folded,) = tree(call(children=layer)).children
    assert (folded.count, folded.children[0].count) == (3, 6)


def test_static_calls_that_never_ran_keep_count_zero_and_say_how_many_places():
    (folded,) = tree(call(children=[call(count=0), call(count=0)])).children
    assert (folded.count, folded.sites, folded.times) == (0, 2, "×2")


def test_a_wide_tree_is_cut_and_says_how_much():
    node = tree(call(children=[call(line=i) for i in range(300)]), Limits(children=200))
    assert (len(node.children), node.hidden) == (200, 100)


def test_a_deep_tree_is_cut_and_says_how_much():
    deep = call()
    for _ in range(5000):
        deep = call("recursed", "down", children=[deep])
    rows = list(tree(deep, Limits(depth=50)).walk())
    assert len(rows) == 50
    assert rows[-1].hidden == 5001 - 50


def test_the_whole_tree_has_a_limit():
    wide = [call(line=i, children=[call(line=j) for j in range(50)]) for i in range(50)]
    node = tree(call(children=wide), Limits(nodes=100))
    rows = list(node.walk())
    assert len(rows) <= 101
    assert len(rows) + sum(row.hidden for row in rows) == 1 + 50 * 51


def test_many_equal_calls_do_not_use_up_the_limit():
    node = tree(call(children=[*(call() for _ in range(1000)), call(function="last")]), Limits(nodes=10))
    assert [child.function for child in node.children] == ["np.tanh", "last"]


def test_a_tree_that_leads_back_to_itself_ends():
    fac = call("recursed", "fac")
    fac.children.append(fac)
    node = tree(fac)
    assert [row.note for row in node.walk()] == ["", "as above"]


def test_the_rule_is_said_by_its_layer_or_its_place():
    shipped = SimpleNamespace(name="tanh(x: ndarray)", signature="(x: ndarray)", layer="shipped", place="numpy.py:3")
    mine = SimpleNamespace(name="det(a: Tri)", signature="(a: Tri)", layer="user", place="cell 6:1")
    assert tree(call(rule=shipped)).chosen == "shipped"
    assert tree(call(rule=mine)).chosen == "(a: Tri) at cell 6:1"
    assert tree(call()).chosen == ""


def test_the_summary_counts_calls_by_outcome():
    node = tree(call("recursed", "loss", children=[call(count=12), call("opted-out", "det", children=[call(line=9)])]))
    assert summary(node) == "13 hit · 1 opted out · 1 recursed"
