"""When a function or class is redefined: what follows, what stays behind, and what never shares by name."""
from zad_jupyter.rules import registry

DET = "def det(a): return a + {}"
RULE = "@rrule(det)\ndef r(a: int): return a, abs"


def test_a_rule_follows_its_function_when_the_cell_is_run_again(notebook, changes):
    notebook.run(1, DET.format(1))
    notebook.run(2, RULE)
    older = notebook["det"]
    notebook.run(1, DET.format(1))
    newer = notebook["det"]
    assert newer is not older
    assert registry.select(newer, (int,)).rule is notebook["r"]
    assert notebook["r"].target is newer
    assert registry.select(older, (int,)).rule is notebook["r"]      # who still holds the older one loses nothing
    assert changes[-1].reason == "det was redefined in cell 1; its rules follow"
    assert newer in changes[-1].functions


def test_a_rule_follows_though_the_older_function_is_long_gone(notebook):
    notebook.run(1, DET.format(1))
    notebook.run(2, RULE)
    for n in range(3):
        notebook.run(1, DET.format(n))
    assert registry.select(notebook["det"], (int,)).rule is notebook["r"]


def test_a_changed_body_is_announced_and_marked(notebook, changes):
    notebook.run(1, DET.format(1))
    notebook.run(4, RULE)
    notebook.run(1, DET.format(2))
    registry.select(notebook["det"], (int,))
    assert changes[-1].reason == "det was redefined in cell 1; the rule of cell 4 was written for an older det"
    assert notebook["r"].written_for_older
    assert notebook["r"].status == "written for an older det"


def test_running_the_rules_cell_after_a_redefinition_leaves_one_rule(notebook):
    notebook.run(1, DET.format(1))
    notebook.run(2, RULE)
    notebook.run(1, DET.format(2))
    notebook.run(2, RULE, transaction=True)
    assert registry.rules(notebook["det"]) == [notebook["r"]]
    assert not notebook["r"].written_for_older


def test_a_redefinition_from_elsewhere_leaves_the_rule_detached_and_attachable(notebook, changes):
    notebook.run(1, DET.format(1))
    notebook.run(2, RULE)
    notebook.run(7, DET.format(1))
    newer = notebook["det"]
    for _ in range(2):
        assert registry.select(newer, (int,)).outcome == "none"
    assert notebook["r"].status == "detached: det was redefined in cell 7"
    assert changes[-1].reason.startswith("det was redefined in cell 7; the rule of cell 2 is detached")
    assert len(changes) == 2
    assert notebook["r"] in registry.rules()
    registry.attach(notebook["r"], newer)
    assert registry.select(newer, (int,)).rule is notebook["r"]
    assert notebook["r"].status == ""


def test_without_cell_ids_the_same_parameters_make_a_successor(notebook):
    notebook.run(1, DET.format(1), cell_id=None)
    notebook.run(2, RULE, cell_id=None)
    notebook.run(3, DET.format(2), cell_id=None)
    assert registry.select(notebook["det"], (int,)).rule is notebook["r"]
    notebook.run(4, "def det(a, b): return a", cell_id=None)
    assert registry.select(notebook["det"], (int, int)).outcome == "none"
    assert registry.select(notebook["det"], (int,)).outcome == "none"


def test_wrappers_lambdas_and_inner_functions_share_with_nobody(notebook):
    text = """
        import functools
        def det(a): return a
        inner = det
        @functools.wraps(det)
        def wrapped(a): return inner(a)
        double = lambda a: a
        def make():
            def local(a): return a
            return local
        made = make()
        """
    notebook.run(1, text)
    for name in ("wrapped", "double", "made"):
        notebook.run(2, f"@rrule({name})\ndef r_{name}(a: int): return a, abs")
    notebook.run(1, text)
    for name in ("wrapped", "double", "made", "det"):
        assert registry.select(notebook[name], (int,)).outcome == "none"


def test_a_method_is_followed_when_its_class_is_run_again(notebook):
    text = "class Quad:\n    def area(self, x): return x"
    notebook.run(1, text)
    notebook.run(2, "@rrule(Quad.area)\ndef r(self: Quad, x): return x, abs")
    old = notebook["Quad"]
    notebook.run(1, text)
    new = notebook["Quad"]
    assert new is not old
    assert registry.select(new.area, (new, int)).rule is notebook["r"]


def test_annotated_classes_follow_and_old_instances_still_hit(notebook):
    notebook.run(1, "class A:\n    def __repr__(self): return 'A'")
    notebook.run(2, "def f(a): return a\n@rrule(f)\ndef r(a: A): return a, abs")
    old = notebook["A"]
    notebook.run(1, "class A:\n    def __repr__(self): return 'a different A'")
    new = notebook["A"]
    for cls in (old, new):
        assert registry.select(notebook["f"], (cls,)).rule is notebook["r"]
    notebook.run(2, "def f(a): return a\n@rrule(f)\ndef r(a: A): return a, abs", transaction=True)
    assert registry.rules(notebook["f"]) == [notebook["r"]]
    for cls in (old, new):
        assert registry.select(notebook["f"], (cls,)).rule is notebook["r"]


def test_a_class_of_the_same_name_from_elsewhere_is_another_class(notebook):
    notebook.run(1, "class A:\n    def m(self): pass")
    notebook.run(2, "def f(a): return a\n@rrule(f)\ndef r(a: A): return a, abs")
    notebook.run(9, "class A:\n    def m(self): pass")
    assert registry.select(notebook["f"], (notebook["A"],)).outcome == "none"


def test_an_older_generation_knows_the_successor_too(notebook):
    notebook.run(1, DET.format(1))
    notebook.run(2, RULE)
    held = registry.snapshot()
    notebook.run(1, DET.format(1))
    assert registry.select(notebook["det"], (int,)).outcome == "hit"
    assert held.select(notebook["det"], (int,)).outcome == "hit"


def test_an_older_generation_keeps_rules_that_are_gone_for_a_successor_it_never_saw(notebook):
    notebook.run(1, DET.format(1))
    notebook.run(2, RULE)
    held = registry.snapshot()
    registry.remove(notebook["r"])
    notebook.run(1, DET.format(1))
    assert held.select(notebook["det"], (int,)).outcome == "hit"
    assert registry.select(notebook["det"], (int,)).outcome == "none"


def test_classes_that_only_share_a_name_are_different(notebook):
    notebook.run(1, """
        def f(a): return a
        one, two = type("P", (), {}), type("P", (), {})
        @rrule(f)
        def r(a: one): return a, abs
        """)
    assert registry.select(notebook["f"], (notebook["one"],)).rule is notebook["r"]
    assert registry.select(notebook["f"], (notebook["two"],)).outcome == "none"
