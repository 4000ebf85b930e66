"""`which_rule` says what a call gets, and why."""
from zad_jupyter.rules import opt_out, registry, rrule, which_rule


class Animal:
    pass
class Dog(Animal):
    pass


def test_the_whole_text_of_an_explanation(notebook):
    notebook.run(1, "class Animal: pass\nclass Dog(Animal): pass\ndef cat(xs, init=None): return xs\ndef other(): pass")
    notebook.run(2, "@rrule(cat)\ndef a(xs: Animal): return xs, abs")
    notebook.run(3, "@rrule(cat)\ndef b(xs: Dog): return xs, abs")
    notebook.run(4, "@rrule(cat)\ndef c(xs: Dog): return xs, abs\n"
                    "registry.switch(rrule(cat)(lambda xs: (xs, abs)), False)")
    notebook.run(5, "opt_out(cat, int)\n@rrule(cat, layer='shipped')\ndef d(xs): return xs, abs")
    explanation = which_rule(notebook["cat"], notebook["Dog"]())
    assert explanation.rule is notebook["c"]
    assert str(explanation) == (
        "cat(Dog): hit, cat(xs: Dog) at cell 4:1\n"
        "  ✓ cat(xs: Dog)       cell 4:1          chosen\n"
        "  · cat(xs: Animal)    cell 2:1          applies, but is less specific in xs\n"
        "  · cat(xs)            shipped cell 5:2  applies; rules of the user come first\n"
        "  ✗ cat(xs: Dog)       cell 3:1          shadowed: executed before the rule at cell 4:1\n"
        "  ✗ cat(xs)            cell 4:3          switched off\n"
        "  ✗ cat(xs: int, ...)  cell 5:1          xs: wants int, got Dog")
    assert [c.applies for c in explanation.candidates] == [True, True, True, False, False, False]


def test_a_keyword_that_a_rule_does_not_take_is_said():
    def cat(xs, init=None): return xs
    @rrule(cat)
    def _(xs): return xs, abs
    explanation = which_rule(cat, [1.0], init=2.0)
    assert explanation.outcome == "none"
    assert explanation.candidates[0].fate == "does not take init"
    assert str(explanation).startswith("cat(list, init=float): no rule; the body is differentiated")


def test_an_opt_out_an_ambiguity_and_a_value_dependent_rule_say_so():
    def f(a, b=None): return a
    out = opt_out(f, Dog)
    assert str(which_rule(f, Dog())).startswith(f"f(Dog): opted out by f(a: Dog, ...) at {out.place}; the body is")
    @rrule(f)
    def maybe(a: int):
        return None if a else (a, abs)
    assert "it may opt out, by returning None for some values" in str(which_rule(f, 1))
    @rrule(f)
    def _(a: str, b): return a, abs
    @rrule(f)
    def _(a, b: str): return a, abs
    explanation = which_rule(f, "", "")
    assert explanation.outcome == "ambiguous"
    assert str(explanation).splitlines()[0] == (
        "f(str, str) is ambiguous: two rules apply and neither is more specific; define f(str, str)")


def test_a_bound_method_is_explained_by_the_rule_of_its_function():
    class Quad:
        def area(self, x): return x
    @rrule(Quad.area)
    def _(self: Quad, x: float): return x, abs
    assert which_rule(Quad().area, 1.0).rule is _


def test_what_a_class_overrides_is_said():
    import operator
    class Mine(float):
        def __mul__(self, other): return other
    @rrule(operator.mul, layer="shipped")
    def _(a: float, b: float): return a, abs
    fates = {c.rule: c.fate for c in which_rule(operator.mul, Mine(1.0), 2.0).candidates}
    assert fates[_] == "Mine overrides __mul__"


def test_the_table_for_notebooks_escapes_what_it_shows():
    def f(a, b="<script>"): return a
    @rrule(f)
    def _(a, b="<b>"): return a, abs
    html = which_rule(f, 1)._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_explaining_calls_nothing():
    def f(a): raise AssertionError
    @rrule(f)
    def _(a): raise AssertionError
    assert which_rule(f, 1).outcome == "hit"
    assert registry.rules(f) == [_]
