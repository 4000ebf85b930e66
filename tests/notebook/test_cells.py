"""Cells have the number that the person sees, and rules written in ordinary cells belong to them."""

from zad_jupyter import notebook
from zad_jupyter.rules import registry


def test_code_is_placed_in_the_cell_that_the_person_sees(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok("\nx = 1\nrule = opt_out(det, Tri)")
    number = len(nb["In"]) - 1
    assert nb["In"][number].strip().startswith("x = 1")
    assert str(nb["rule"].place) in (f"cell {number}:2", f"cell {number}:3")


def test_cells_that_ran_before_loading_have_their_numbers(bare):
    bare.ok("1")
    bare.ok("def det(a): return a")
    bare.ok("from zad_jupyter.rules import opt_out, Place\nrule = opt_out(det, float)")
    notebook.load_ipython_extension(bare.shell)
    assert str(bare["rule"].place) == "cell 3:2"


def test_an_ordinary_cell_owns_the_rules_it_defines(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok("flag = True")
    cell = "opt_out(det, Tri)\nif flag: opt_out(det, np.ndarray)"
    nb.ok(cell, "one")
    assert len(registry.rules(nb["det"])) == 2
    nb.ok("flag = False")
    ran = nb.ok(cell, "one")
    assert len(registry.rules(nb["det"])) == 1
    assert "removed the rule det(a: ndarray)" in ran.out


def test_without_cell_ids_an_equal_rule_replaces_and_nothing_else_goes(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok("opt_out(det, Tri); opt_out(det, np.ndarray)")
    nb.ok("opt_out(det, Tri)")
    assert sorted(rule.name for rule in registry.rules(nb["det"])) == ["det(a: Tri)", "det(a: ndarray)"]


def test_an_edited_cell_with_an_id_drops_what_is_gone(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok("opt_out(det, Tri)", "one")
    nb.ok("pass", "one")
    assert registry.rules(nb["det"]) == []


def test_a_cell_that_failed_drops_nothing(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok("opt_out(det, Tri)", "one")
    nb("1 / 0", "one")
    assert len(registry.rules(nb["det"])) == 1


def test_a_cell_that_runs_a_cell_is_not_confused(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok("get_ipython().run_cell('opt_out(det, Tri)')\nopt_out(det, np.ndarray)", "one")
    assert len(registry.rules(nb["det"])) == 2
    nb.ok("1", "one")
    assert [rule.name for rule in registry.rules(nb["det"])] == ["det(a: Tri)"]
