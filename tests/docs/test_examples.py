"""Every example in the documentation runs, in order, as the cells of one notebook, and shows what the page says.

A `python` or `ipython` block is a cell. What it shows, or the error that it raises, stands in a `text` block after it,
or behind `# →` on its last line; `...` stands for anything.
"""

from __future__ import annotations

import doctest
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.notebook.kernel import running_kernel

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass
class Example:
    """One cell of a page, and what the page says that it shows; None where it says nothing."""

    line: int
    code: str
    expected: str | None = None


def examples(text: str) -> list[Example]:
    found: list[Example] = []
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        if language in ("python", "ipython"):
            _, arrow, result = body.rstrip().rpartition("\n")[2].partition("# →")
            found.append(Example(text.count("\n", 0, block.start()) + 1, body, result.strip() if arrow else None))
        elif language == "text" and found:
            found[-1].expected = body
    return found


def differs(expected: str, shown: str) -> str:
    """How what was shown differs from what the page says; nothing if it does not."""
    checker = doctest.OutputChecker()
    if checker.check_output(expected.strip() + "\n", shown.strip() + "\n", OPTIONS):
        return ""
    return f"the page says:\n{expected}\nit showed:\n{shown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_runs_and_shows_what_the_page_says(page, tmp_path):
    cells = examples(page.read_text())
    if not cells:
        pytest.skip("no examples")
    with running_kernel() as kernel:
        kernel.ok(f"import os, sys; sys.path.append({str(ROOT)!r}); os.chdir({str(tmp_path)!r})")  # pages write files
        for number, example in enumerate(cells):
            reply = kernel(example.code, cell_id=f"{page.name}-{number}")
            where = f"{page.name}:{example.line}\n{example.code}\n"
            if example.expected is None:
                assert reply.status == "ok", where + reply.text
            else:
                shown = reply.text if reply.status == "ok" else reply.error
                assert not (difference := differs(example.expected, shown)), where + difference


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_what_a_page_says_is_compared():
    page = "```python\n1 + 1   # → 3\n```\n```python\n1 / 0\n```\n```text\nZero...: division by zero\n```\n"
    wrong, error = examples(page)
    assert differs(wrong.expected, "2\n")
    assert not differs(error.expected, "ZeroDivisionError: division by zero")
