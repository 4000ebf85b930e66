"""A newcomer's first command: `make demo` in a fresh clone without a `.venv`. Two minutes, most of it downloads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(900)
def test_make_demo_in_a_fresh_clone_tells_the_tour(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    ours = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    demo = subprocess.run(
        ["make", "demo"], cwd=clone, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert demo.returncode == 0, demo.stdout[-3000:] + demo.stderr[-3000:]
    assert "== building the panel" in demo.stdout
    code = [cell.source for cell in nbformat.read(clone / "examples/tour.ipynb", 4).cells if cell.cell_type == "code"]
    told = demo.stdout.splitlines()
    for source in code:
        assert f"  │ {source.splitlines()[0]}" in told
    for outcome in ["hit", "opted out", "recursed"]:
        assert outcome in demo.stdout
    assert '"resolved"' not in (clone / "labextension/package-lock.json").read_text()
    unchanged = subprocess.run(["git", "status", "--short"], cwd=clone, capture_output=True, text=True, check=True)
    assert unchanged.stdout == ""
