"""One JupyterLab server and one Chromium for all browser tests, and a page that types as a person does."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect, sync_playwright

TOY = Path(__file__).parent / "toy"
LOOK = os.environ.get("ZAD_SHOTS")  # a folder: keep a picture of every test's last page, to be looked at

expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def lab(own_jupyter: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a running server, and the folder that it serves."""
    root = tmp_path_factory.mktemp("notebooks")
    config = Path(own_jupyter["JUPYTER_CONFIG_DIR"]) / "labconfig"
    config.mkdir(parents=True, exist_ok=True)
    no_news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (config / "page_config.json").write_text(json.dumps(no_news))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # fmt: off
    command = [
        sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", f"--port={port}", "--no-browser", "--allow-root",
        "--IdentityProvider.token=", "--expose-app-in-browser", "--ServerApp.disable_check_xsrf=True",
        "--JupyterNotebookApp.expose_app_in_browser=True", f"--ServerApp.root_dir={root}",
    ]
    # fmt: on
    log = (root.parent / "lab.log").open("w")
    paths = [str(TOY), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=root)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for_server(f"{address}/api/status", server, Path(log.name))
        yield address, root
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def wait_for_server(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    executable = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if executable is None:
        pytest.fail("the browser tests need Chromium: `make test` installs it, or `apt-get install chromium`")
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"),
            executable_path=executable,
            headless=True,
            viewport={"width": 1280, "height": 800},
            args=["--no-sandbox", "--disable-component-update", "--disable-sync", *quiet],
        )
        yield context
        context.close()


class LabPage:
    """A browser page on JupyterLab, with the zad panel open."""

    def __init__(self, page: Page, address: str, root: Path) -> None:
        self.page, self.address, self.root = page, address, root
        self.panel = page.locator("#zad-panel")
        self.rows = self.panel.get_by_role("treeitem")

    def open(self, name: str, *sources: str, late: bool = False, at: str = "lab/tree") -> None:
        """Open a new notebook of these cells; `late` leaves the panel shut, `at` can be Notebook 7's "notebooks"."""
        self.write(name, sources)
        self.page.goto(f"{self.address}/{at}/{name}?reset")
        self.wait_for_kernel()
        if not late:
            self.show_panel()

    def open_another(self, name: str, *sources: str) -> None:
        """Open a second notebook beside the first, in the same page."""
        self.write(name, sources)
        self.command("docmanager:open", path=name)
        self.wait_for_kernel()

    def write(self, name: str, sources: tuple[str, ...]) -> None:
        cells = [nbformat.v4.new_code_cell(source) for source in sources or ("",)]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), self.root / name)

    def command(self, name: str, **arguments: Any) -> None:
        """Execute one of Lab's commands; some only end with a dialog, so it is not waited for."""
        self.page.evaluate("([name, args]) => { window.jupyterapp.commands.execute(name, args); }", [name, arguments])

    def wait_for_kernel(self) -> None:
        # The indicator says idle before the kernel is connected, and what is run then is lost.
        self.page.wait_for_function(
            """() => {
                const session = window.jupyterapp?.shell.currentWidget?.sessionContext?.session;
                return session?.kernel?.connectionStatus === 'connected' && session.kernel.status === 'idle';
            }""",
            timeout=60_000,
        )

    def show_panel(self) -> None:
        self.command("zad:show")
        expect(self.panel).to_be_visible()

    def run(self, cell: int, wait: bool = True) -> None:
        """Run the cell with Shift+Enter; `wait` until its number is there."""
        box = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell").nth(cell)
        box.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        if wait:
            expect(box.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]"))

    def functions(self) -> list[str | None]:
        return [row.get_attribute("data-function") for row in self.rows.all()]

    def row(self, function: str) -> Locator:
        return self.panel.locator(f'[role=treeitem][data-function="{function}"]')

    def expect_status(self, status: str) -> None:
        expect(self.panel).to_have_attribute("data-status", status)


@pytest.fixture
def page(lab: tuple[str, Path], chromium: BrowserContext, request: pytest.FixtureRequest) -> Iterator[LabPage]:
    address, root = lab
    tab = chromium.new_page()
    problems: list[str] = []
    # Notebook 7 has uncaught errors of its own; there only ours count.
    ours = lambda error: "/notebooks/" not in tab.url or "zad-jupyter-panel" in (error.stack or "")
    tab.on("pageerror", lambda error: problems.append(error.stack or str(error)) if ours(error) else None)
    yield LabPage(tab, address, root)
    if LOOK:
        Path(LOOK).mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=Path(LOOK) / f"{request.node.name}.png")
    tab.close()
    stop_kernels(address)
    assert not problems, f"uncaught errors in the page: {problems}"


def stop_kernels(address: str) -> None:
    """Each test begins without the kernels of the last; two cores are few."""
    with urllib.request.urlopen(f"{address}/api/sessions") as reply:
        sessions = json.load(reply)
    for session in sessions:
        request = urllib.request.Request(f"{address}/api/sessions/{session['id']}", method="DELETE")
        urllib.request.urlopen(request).close()
