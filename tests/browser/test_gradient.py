"""The whole way: a gradient taken in JupyterLab, and its calls in the panel."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import LabPage

LOAD = "%load_ext zad_jupyter\nimport math\nfrom zad_jupyter import gradient, opt_out, rrule"
FUNCTIONS = "def inner(x):\n    return math.sin(x) * x\n\ndef outer(x):\n    return inner(x) + inner(2 * x)"
RULE = "@rrule(inner)\ndef _(x: float):\n    return inner(x), lambda g: g"


def test_a_gradient_fills_the_panel_with_its_calls(page: LabPage) -> None:
    page.open("gradient.ipynb", LOAD, FUNCTIONS, "gradient(outer, 0.5)")
    page.run(0)
    page.expect_status("connected")
    page.run(1)
    page.run(2)
    expect(page.row("outer")).to_have_attribute("data-outcome", "recursed")
    expect(page.row("outer")).to_have_attribute("aria-level", "1")
    expect(page.row("inner").first).to_have_attribute("data-outcome", "recursed")
    expect(page.panel.locator('[data-function$="sin"]').first).to_have_attribute("data-outcome", "hit")


def test_a_new_rule_is_seen_in_the_next_gradient(page: LabPage) -> None:
    page.open("rule.ipynb", LOAD, FUNCTIONS, "gradient(outer, 0.5)", RULE, "gradient(outer, 0.5)")
    for cell in range(3):
        page.run(cell)
    expect(page.row("inner").first).to_have_attribute("data-outcome", "recursed")
    page.run(3)
    page.run(4)
    expect(page.row("inner").first).to_have_attribute("data-outcome", "hit")
    expect(page.panel.locator('[data-function$="sin"]')).to_have_count(0)
    page.row("inner").first.click()
    expect(page.panel.get_by_label("Selected call")).to_contain_text("inner(x: float)")


def test_loaded_into_a_kernel_by_its_own_button_and_unloaded_again(page: LabPage) -> None:
    page.open("button.ipynb", "%unload_ext zad_jupyter")
    page.panel.get_by_role("button", name="Insert").click()
    page.run(0)
    page.expect_status("connected")
    page.run(1)
    page.expect_status("not-loaded")
