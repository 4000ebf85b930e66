"""The panel in a real JupyterLab, with a real kernel; the trees are typed by hand (toy/zad_toy.py)."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import LabPage

SHOW = "toy.show(example())"
ALL = ["loss", "layer", "matmul", "det", "np.diag", "np.prod", "np.tanh", "len"]


def test_says_that_nothing_is_loaded_and_puts_the_line_in_a_cell(page: LabPage) -> None:
    page.open("empty.ipynb", "1 + 1")
    page.expect_status("not-loaded")
    expect(page.panel).to_contain_text("This kernel has not loaded zad_jupyter.")
    page.panel.get_by_role("button").click()
    expect(page.page.locator(".jp-CodeCell .cm-content").first).to_have_text("%load_ext zad_jupyter")


def test_connects_when_the_extension_is_loaded_and_shows_the_tree(page: LabPage) -> None:
    page.open("tree.ipynb", "%load_ext zad_toy", SHOW)
    page.expect_status("not-loaded")
    page.run(0)
    page.expect_status("connected")
    expect(page.panel).to_contain_text("No gradient has been taken yet")
    page.run(1)
    expect(page.rows).to_have_count(len(ALL))
    assert page.functions() == ALL
    expect(page.row("det")).to_have_attribute("data-outcome", "opted-out")
    expect(page.row("np.tanh")).to_have_attribute("data-count", "12")
    expect(page.row("np.tanh")).to_contain_text("×12")
    expect(page.row("det")).to_have_text(re.compile("↷opted out.*det.*(Tri).*cell 4:5"))
    # Nothing of all this printed anything in a cell.
    expect(page.page.locator(".jp-OutputArea-output")).to_have_count(0)


def test_opened_late_it_shows_the_tree_at_once(page: LabPage) -> None:
    page.open("late.ipynb", f"%load_ext zad_toy\n{SHOW}", late=True)
    page.run(0)
    page.show_panel()
    page.expect_status("connected")
    expect(page.rows).to_have_count(len(ALL))


def test_follows_a_cell_while_it_runs(page: LabPage) -> None:
    loop = "import time\nfor i in range(600):\n    toy.show(call('hit', f'step{i}'))\n    time.sleep(.05)"
    page.open("running.ipynb", "%load_ext zad_toy", loop)
    page.run(0)
    page.expect_status("connected")
    page.run(1, wait=False)
    expect(page.rows).to_have_attribute("data-function", re.compile(r"step\d\d"))
    expect(page.page.locator(".jp-InputPrompt").nth(1)).to_have_text("[*]:")
    page.command("notebook:interrupt-kernel")
    expect(page.page.locator(".jp-InputPrompt").nth(1)).to_have_text("[2]:")


def test_loaded_in_the_first_line_of_a_long_cell_it_connects_before_the_cell_ends(page: LabPage) -> None:
    page.open("long.ipynb", f"%load_ext zad_toy\n{SHOW}\nimport time\ntime.sleep(300)")
    page.expect_status("not-loaded")
    page.run(0, wait=False)
    page.expect_status("connected")
    expect(page.rows).to_have_count(len(ALL))
    expect(page.page.locator(".jp-InputPrompt").first).to_have_text("[*]:")
    page.command("notebook:interrupt-kernel")


def test_a_restart_empties_it_and_loading_again_fills_it(page: LabPage) -> None:
    page.open("restart.ipynb", f"%load_ext zad_toy\n{SHOW}")
    page.run(0)
    expect(page.rows).to_have_count(len(ALL))
    page.command("notebook:restart-kernel")
    page.page.get_by_role("button", name="Confirm Kernel Restart").click()
    page.expect_status("not-loaded")
    expect(page.rows).to_have_count(0)
    page.wait_for_kernel()
    page.run(0)
    page.expect_status("connected")
    expect(page.rows).to_have_count(len(ALL))


def test_unloading_is_noticed(page: LabPage) -> None:
    page.open("unload.ipynb", "%load_ext zad_toy", "%unload_ext zad_toy")
    page.run(0)
    page.expect_status("connected")
    page.run(1)
    page.expect_status("not-loaded")


def test_a_page_that_is_reloaded_connects_again(page: LabPage) -> None:
    page.open("reload.ipynb", f"%load_ext zad_toy\n{SHOW}", "print('attached', panel.attached)")
    page.run(0)
    expect(page.rows).to_have_count(len(ALL))
    page.page.reload()
    page.wait_for_kernel()
    page.show_panel()
    expect(page.rows).to_have_count(len(ALL))
    page.run(1)
    expect(page.page.locator(".jp-OutputArea-output")).to_have_text("attached 1")


def test_follows_the_notebook_that_was_used_last(page: LabPage) -> None:
    page.open("one.ipynb", f"%load_ext zad_toy\n{SHOW}")
    page.run(0)
    expect(page.panel.locator("header")).to_contain_text("one.ipynb · Python 3")
    expect(page.rows).to_have_count(len(ALL))
    page.open_another("two.ipynb", "%load_ext zad_toy\ntoy.show(call('hit', 'other'))")
    page.expect_status("not-loaded")
    expect(page.panel.locator("header")).to_contain_text("two.ipynb")
    page.run(0)
    expect(page.row("other")).to_be_visible()
    page.page.locator(".lm-TabBar-tab", has_text="one.ipynb").click()
    expect(page.rows).to_have_count(len(ALL))


def test_a_console_on_the_notebooks_kernel_gets_the_same_tree(page: LabPage) -> None:
    page.open("shared.ipynb", f"%load_ext zad_toy\n{SHOW}")
    page.run(0)
    expect(page.rows).to_have_count(len(ALL))
    page.command("notebook:create-console")
    expect(page.page.locator(".jp-CodeConsole")).to_be_visible()
    page.page.locator(".jp-CodeConsole-promptCell .cm-content").click()
    expect(page.panel.locator("header")).to_contain_text("console shared.ipynb")
    page.expect_status("connected")
    expect(page.rows).to_have_count(len(ALL))
    page.page.keyboard.insert_text("toy.show(call('hit', 'typed_here'))")
    page.page.keyboard.press("Shift+Enter")
    expect(page.row("typed_here")).to_be_visible()


def test_the_keyboard_walks_opens_and_closes(page: LabPage) -> None:
    page.open("keys.ipynb", f"%load_ext zad_toy\n{SHOW}")
    page.run(0)
    page.row("loss").click()
    press = page.page.keyboard.press
    for key in ["ArrowDown", "ArrowDown", "ArrowDown"]:
        press(key)
    expect(page.row("det")).to_be_focused()
    expect(page.panel.get_by_label("Selected call")).to_contain_text("det(a: Tri), at cell 6:1, opts out")
    press("ArrowLeft")
    expect(page.row("np.diag")).to_have_count(0)
    expect(page.row("det")).to_have_attribute("aria-expanded", "false")
    press("ArrowRight")
    press("ArrowRight")
    expect(page.row("np.diag")).to_be_focused()
    press("End")
    expect(page.row("len")).to_be_focused()


def test_without_a_notebook_it_says_so(page: LabPage) -> None:
    page.page.goto(f"{page.address}/lab?reset")
    page.page.wait_for_function("() => window.jupyterapp?.commands?.hasCommand('zad:show')")
    page.show_panel()
    page.expect_status("no-kernel")
    expect(page.panel).to_contain_text("Open a notebook or a console")


def test_works_in_notebook_7(page: LabPage) -> None:
    page.open("seven.ipynb", f"%load_ext zad_toy\n{SHOW}", at="notebooks")
    page.expect_status("not-loaded")
    page.run(0)
    page.expect_status("connected")
    assert page.functions() == ALL
