"""Rules that change: generations, owners, transactions, successors, and what subscribers are told."""
import threading

import pytest

from zad_jupyter.rules import opt_out, registry, rrule


def rule(f, value=1.0, annotation=object):
    def _(a: annotation): return value, lambda g: g
    return rrule(f)(_)


@pytest.fixture
def f():
    def f(a): return a
    return f


def test_every_change_makes_a_generation_and_an_old_one_stays_as_it_was(f):
    before = registry.snapshot()
    first = registry.generation
    added = rule(f)
    assert registry.generation == first + 1
    assert before.number == first
    assert before.select(f, (int,)).outcome == "none"
    held = registry.snapshot()
    registry.remove(added)
    assert held.select(f, (int,)).rule is added
    assert registry.select(f, (int,)).outcome == "none"


def test_a_switch_does_not_reach_a_generation_that_is_held(f):
    added = rule(f)
    held = registry.snapshot()
    registry.switch(added, False)
    assert held.select(f, (str,)).rule is added
    assert registry.select(f, (str,)).outcome == "none"


def test_subscribers_hear_what_changed_and_can_leave(f):
    seen = []
    leave = registry.subscribe(seen.append)
    added = rule(f)
    change, = seen
    assert (change.functions, change.added, change.removed) == ((f,), (added,), ())
    assert change.reason == f"added rule f(a) at {added.place}"
    assert change.generation == registry.generation
    leave()
    registry.remove(added)
    assert len(seen) == 1


def test_a_subscriber_that_fails_stops_nobody(f):
    seen = []
    leave_bad = registry.subscribe(lambda change: 1 / 0)
    leave = registry.subscribe(seen.append)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        added = rule(f)
    assert registry.select(f, (int,)).rule is added
    assert len(seen) == 1
    leave_bad(), leave()


# ------------------------------------------------------------------------------------------------------- transactions

def test_a_transaction_is_one_change_at_its_end(f, changes):
    with registry.transaction("cell 1"):
        one, two = rule(f, annotation=int), rule(f, annotation=str)
        assert registry.select(f, (int,)).outcome == "none"
        assert registry.rules(f) == [one, two]
    assert registry.select(f, (int,)).rule is one
    change, = changes
    assert change.added == (one, two)


def test_on_an_exception_nothing_has_changed(f, changes):
    kept = rule(f, annotation=int)
    generation = registry.generation

    def cell():
        with registry.transaction("cell 1"):
            rule(f, annotation=int)
            registry.remove(kept)
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        cell()
    assert registry.generation == generation
    assert registry.rules(f) == [kept]
    assert len(changes) == 1


def test_executing_an_owner_again_is_a_set_difference(f, changes):
    with registry.transaction("cell 1"):
        gone, _, edited = rule(f, annotation=int), rule(f, annotation=str), rule(f, annotation=list)
    with registry.transaction("cell 1"):
        again, new = rule(f, annotation=str), rule(f, 2.0, annotation=list)
    change = changes[-1]
    assert set(change.removed) == {gone, edited}
    assert change.added == (new,)
    assert registry.rules(f) == [again, new]


def test_an_equal_rule_is_no_change_but_its_new_function_is_used(f, changes):
    with registry.transaction("cell 1"):
        rule(f)
    before, generation = registry.select(f, (int,)), registry.generation
    with registry.transaction("cell 1"):
        again = rule(f)
    assert len(changes) == 1
    assert registry.generation == generation
    after = registry.select(f, (int,))
    assert after.rule is again
    assert after == before


@pytest.mark.parametrize(("old", "new", "equal"), [
    (1, 1, True), (1, 1.0, False), (1, True, False), (0.0, -0.0, False), (float("nan"), float("nan"), True),
    ((1, "a"), (1, "a"), True), ([1], [1], False), (None, None, True)])
def test_closure_values_are_part_of_a_rule(f, changes, old, new, equal):
    for value in (old, new):
        with registry.transaction("cell 1"):
            rule(f, value)
    assert (len(changes) == 1) is equal


def test_the_same_text_over_other_globals_is_another_rule(f, changes):
    for scale in (1, 2):
        scope = {"scale": scale}
        exec("def _(a): return scale * a, abs", scope)
        with registry.transaction("cell 1"):
            rrule(f)(scope["_"])
    assert len(changes) == 2


def test_an_equal_opt_out_executed_again_passes_the_rule_it_ties_with(changes):
    def f(a, scale=1.0): return a
    for door in (lambda: opt_out(f, int), lambda: rule(f, annotation=int), lambda: opt_out(f, int)):
        with registry.transaction(str(len(changes) % 2)):
            door()
    assert registry.select(f, (int,)).outcome == "opted-out"
    assert changes[2].functions == (f,)
    assert (changes[2].added, changes[2].removed) == ((), ())


def test_an_edited_annotation_or_default_is_a_change(f, changes):
    def first(a, n=1): return a, lambda g: g
    def second(a, n=2): return a, lambda g: g
    for function in (first, second):
        function.__name__ = "_"
        with registry.transaction("cell 1"):
            rrule(f)(function)
    assert len(changes) == 2


def test_a_bare_return_in_place_of_return_none_is_a_change_though_the_bytecode_is_equal(notebook, changes):
    notebook.run(1, "def f(a): return a")
    text = "@rrule(f)\ndef r(a):\n    if a: return a, abs\n    return"
    notebook.run(2, text + " None", transaction=True)
    notebook.run(2, text, transaction=True)
    assert len(changes) == 2
    assert notebook["r"].may_fall_off


def test_a_transaction_within_another_is_part_of_it(f, changes):
    def outer_that_fails():
        with registry.transaction("outer"):
            with registry.transaction("inner"):
                rule(f)
            raise ValueError("outer")
    with pytest.raises(ValueError, match="outer"):
        outer_that_fails()
    assert registry.rules(f) == []
    with registry.transaction("outer"):
        with registry.transaction("inner"):
            inner = rule(f)
        outer = rule(f, 2.0, int)
        assert registry.rules(f) == [inner, outer]
    assert [str(r.owner) for r in registry.rules(f)] == ["inner", "outer"]
    assert len(changes) == 1


def test_a_module_imported_in_a_cell_owns_its_rules(notebook, tmp_path, monkeypatch):
    (tmp_path / "some_rules.py").write_text(
        "from zad_jupyter.rules import rrule\ndef g(a): return a\n"
        "@rrule(g)\ndef r(a): return a, lambda y: y\n")
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(2):
        notebook.run(1, "import some_rules", transaction=True)
    assert notebook["some_rules"].r in registry.rules()
    assert notebook["some_rules"].r.owner.kind == "file"
    assert str(notebook["some_rules"].r.place) == "some_rules.py:3"


def test_a_switch_outlasts_an_edit(f):
    with registry.transaction("cell 1"):
        first = rule(f)
    registry.switch(first, False)
    with registry.transaction("cell 1"):
        second = rule(f, 2.0)
    assert not second.enabled
    assert registry.select(f, (int,)).outcome == "none"


def test_opting_out_within_a_transaction_and_taking_it_back_cancels(f):
    from zad_jupyter.rules import opt_in
    with registry.transaction("cell 1"):
        opt_out(f, int)
        opt_in(f, int)
    assert registry.rules(f) == []


def test_an_ordinary_cell_is_marked_before_and_swept_after(f):
    from zad_jupyter.rules import Owner
    cell = Owner("cell", "id-1", "cell 1")

    def execute(*annotations):
        mark = registry.mark()
        for annotation in annotations:
            def _(a: annotation): return a, lambda g: g
            rrule(f, owner=cell)(_)
            assert registry.select(f, (annotation,)).outcome == "hit"      # at once
        registry.sweep(cell, mark)
    execute(int, str)
    execute(str)
    assert [r.signature for r in registry.rules(f)] == ["(a: str)"]


def test_attaching_within_a_transaction_that_fails_leaves_the_rule_where_it_was(f):
    def other(a): return a
    kept = rule(f)

    def cell():
        with registry.transaction("cell 1"):
            registry.attach(kept, other)
            assert registry.rules(other) == [kept]
            raise KeyError("cell")
    with pytest.raises(KeyError, match="cell"):
        cell()
    assert kept.target is f
    registry.attach(kept, other)
    assert (kept.target, registry.rules(f)) == (other, [])
    registry.remove(kept)
    assert registry.rules(other) == []


# -------------------------------------------------------------------------------------------------------------- cells

def test_a_rule_in_a_cell_is_named_by_it(notebook):
    notebook.run(4, "def det(a): return a\n@rrule(det)\ndef r(a: int): return a, abs")
    assert str(notebook["r"].place) == "cell 4:2"
    assert (notebook["r"].owner.kind, notebook["r"].owner.label) == ("cell", "cell 4")


def test_a_helper_of_another_file_leaves_the_rule_to_the_cell_that_calls(notebook):
    notebook.names["helper"] = rule
    notebook.run(4, "def det(a): return a\nr = helper(det)")
    assert notebook["r"].owner.label == "cell 4"


def test_running_a_cell_again_replaces_its_rule(notebook):
    notebook.run(1, "def f(a): return a")
    for value in (1, 2):
        notebook.run(2, f"@rrule(f)\ndef r(a: int): return {value}, abs")
    assert registry.rules(notebook["f"]) == [notebook["r"]]


def test_without_cell_ids_target_and_signature_replace(notebook):
    notebook.run(1, "def f(a): return a", cell_id=None)
    notebook.run(2, "@rrule(f)\ndef r(a: int): return 1, abs", cell_id=None)
    notebook.run(3, "@rrule(f)\ndef r(a: int): return 2, abs", cell_id=None)
    assert registry.rules(notebook["f"]) == [notebook["r"]]


def test_with_cell_ids_another_cell_shadows(notebook):
    notebook.run(1, "def f(a): return a")
    notebook.run(2, "@rrule(f)\ndef r(a: int): return 1, abs")
    notebook.run(3, "@rrule(f)\ndef r(a: int): return 2, abs")
    assert [r.status for r in registry.rules(notebook["f"])] == ["shadowed by the rule at cell 3:1", ""]


# ------------------------------------------------------------------------------------------------------------- threads

def test_readers_see_whole_generations_while_others_write(f):
    wrong, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            now = registry.snapshot()
            a, b = now.select(f, (int,)), now.select(f, (str,))
            if a.outcome != b.outcome:
                wrong.append((a, b))
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for n in range(100):
        with registry.transaction("both"):
            if n % 2:
                rule(f, n, int), rule(f, n, str)
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_writers_in_several_threads_lose_nothing(f):
    classes = [type(f"C{n}", (), {}) for n in range(40)]

    def write(mine):
        for cls in mine:
            rule(f, 1.0, cls)
    writers = [threading.Thread(target=write, args=(classes[n::4],)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(registry.rules(f)) == 40
    assert all(registry.select(f, (cls,)).outcome == "hit" for cls in classes)


def test_statistics_count(f):
    before = registry.statistics()
    rule(f)
    registry.count("compilations", 2)
    after = registry.statistics()
    assert after["changes"] == before["changes"] + 1
    assert after["rules"] == before["rules"] + 1
    assert after["compilations"] == before["compilations"] + 2


def test_a_failed_question_hears_of_the_rule_that_answers_it(f, changes):
    held = registry.snapshot()
    before = held.select(f, (int,))
    rule(f)
    assert f in changes[-1].functions
    assert registry.select(f, (int,)) != before
    assert held.select(f, (int,)) == before
