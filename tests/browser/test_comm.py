"""The kernel's end of the panel, spoken to without a browser: a real kernel, and the messages that Lab would send."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from zad_jupyter.notebook.panel import BEACON, MOST_COMMS, TARGET, Panel, _limited

TOY = Path(__file__).parent / "toy"


class Client:
    """A page: runs cells, opens comms, and keeps what the kernel says to them."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.printed: list[str] = []
        self.said: dict[str, list[Any]] = {}

    def run(self, source: str) -> str:
        """Run a cell to its end and return what it printed."""
        request = self.client.execute(source)
        before = len(self.printed)
        self.read(lambda message: _idle(message, request))
        return "".join(self.printed[before:])

    def start(self, source: str) -> str:
        """Run a cell, without waiting for it."""
        return self.client.execute(source)

    def send(self, kind: str, comm: str, data: Any = None, subshell: str | None = None, **content: Any) -> str:
        body = {"comm_id": comm, "data": {} if data is None else data, **content}
        message = self.client.session.msg(kind, body)
        message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def attach(self, comm: str, subshell: str | None = None) -> dict[str, Any]:
        """Open a comm, ask for a snapshot, and return it."""
        self.send("comm_open", comm, {"protocol": 1}, subshell, target_name=TARGET)
        self.send("comm_msg", comm, {"type": "snapshot?"}, subshell)
        return self.hear(comm, "snapshot")

    def hear(self, comm: str, kind: str) -> dict[str, Any]:
        """The next message of this kind to this comm."""
        found: list[dict[str, Any]] = []

        def arrived(message: Any = None) -> bool:
            heard = self.said.setdefault(comm, [])
            while heard and not found:
                if (first := heard.pop(0))["type"] == kind:
                    found.append(first)
            return bool(found)

        if not arrived():
            self.read(arrived)
        return found[0]

    def read(self, enough: Any, seconds: float = 20) -> None:
        """Read from the kernel until a message is `enough`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self.client.get_iopub_msg(timeout=max(deadline - time.monotonic(), 0.01))
            content = message["content"]
            if message["msg_type"] == "stream":
                self.printed.append(content["text"])
            elif message["msg_type"] == "error":
                self.printed.append(content["evalue"])
            elif message["msg_type"] == "comm_msg":
                self.said.setdefault(content["comm_id"], []).append(content["data"])
            elif message["msg_type"] == "comm_close":
                self.said.setdefault(content["comm_id"], []).append({"type": "closed"})
            if enough(message):
                return
        pytest.fail("the kernel did not say what was waited for")

    def subshell(self) -> str:
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        return self.client.get_control_msg(timeout=10)["content"]["subshell_id"]

    def comms(self) -> set[str]:
        return set(self.client.comm_info(TARGET, reply=True, timeout=10)["content"]["comms"])


def _idle(message: Any, request: str) -> bool:
    status = message["content"].get("execution_state")
    return status == "idle" and message["parent_header"].get("msg_id") == request


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    paths = [str(TOY), os.environ.get("PYTHONPATH", "")]
    manager, client = start_new_kernel(
        kernel_name="python3", env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    )
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def page(kernel: Any) -> Iterator[Client]:
    """A client of a kernel that has just loaded the toy."""
    client = Client(kernel)
    assert client.run("%load_ext zad_toy\ntoy.show(None)") == ""
    yield client
    client.run("%unload_ext zad_toy")


def test_a_snapshot_is_what_there_is_to_see(page: Client) -> None:
    page.run("toy.show(example())")
    snapshot = page.attach("first")
    assert snapshot["seq"] == 1
    assert snapshot["state"]["protocol"] == 1
    assert [child["function"] for child in snapshot["state"]["tree"]["children"]] == ["layer", "det", "np.tanh", "len"]


def test_a_change_is_a_delta_with_the_next_number_and_only_the_keys_that_changed(page: Client) -> None:
    assert page.attach("one")["state"]["tree"] is None
    page.run("toy.show(call('hit', 'sin'))")
    delta = page.hear("one", "delta")
    assert (delta["seq"], list(delta["state"]), delta["state"]["tree"]["function"]) == (2, ["tree"], "sin")


def test_nothing_is_sent_when_nothing_changed(page: Client) -> None:
    page.run("toy.show(call('hit', 'sin'))")
    page.attach("same")
    page.run("toy.show(call('hit', 'sin')); import time; time.sleep(.3); toy.show(call('hit', 'cos'))")
    assert page.hear("same", "delta")["state"]["tree"]["function"] == "cos"


def test_a_thousand_changes_are_ten_messages_a_second(page: Client) -> None:
    page.attach("many")
    page.run(
        "import time\nstart = time.monotonic()\nfor i in range(1000):\n"
        "    toy.show(call('hit', f'f{i}')); time.sleep(.001)\nseconds = time.monotonic() - start"
    )
    heard = []
    while not heard or heard[-1]["state"]["tree"]["function"] != "f999":
        heard.append(page.hear("many", "delta"))
    seconds = float(page.run("print(seconds)"))
    assert [delta["seq"] for delta in heard] == list(range(2, len(heard) + 2))
    assert 3 <= len(heard) <= 10 * seconds + 3


def test_it_answers_while_a_cell_runs_also_after_it_has_sent_from_that_cell(page: Client) -> None:
    subshell = page.subshell()
    page.attach("busy", subshell)
    cell = page.start("import time\nfor i in range(100):\n    toy.show(call('hit', f'f{i}')); time.sleep(.05)")
    page.hear("busy", "delta")
    asked = time.monotonic()
    page.send("comm_msg", "busy", {"type": "snapshot?"}, subshell)
    snapshot = page.hear("busy", "snapshot")
    assert time.monotonic() - asked < 2
    assert snapshot["state"]["tree"]["function"] != "f99"
    page.read(lambda message: _idle(message, cell))


def test_each_panel_has_its_own_numbers(page: Client) -> None:
    page.attach("a")
    page.run("toy.show(call('hit', 'sin'))")
    assert page.hear("a", "delta")["seq"] == 2
    assert page.attach("b")["seq"] == 1
    page.run("toy.show(call('hit', 'cos'))")
    assert (page.hear("a", "delta")["seq"], page.hear("b", "delta")["seq"]) == (3, 2)


@pytest.mark.parametrize("data", [{"type": "graph?"}, {}, {"type": None}, ["snapshot?"], "snapshot?"])
def test_a_message_that_it_does_not_know_is_passed_over(page: Client, data: Any) -> None:
    page.attach("odd")
    page.send("comm_msg", "odd", data)
    page.send("comm_msg", "odd", {"type": "snapshot?"})
    assert page.hear("odd", "snapshot")["seq"] == 2
    assert page.run("print('quiet')") == "quiet\n"


def test_a_source_that_fails_is_shown_as_such_and_recovers(page: Client) -> None:
    page.attach("ill")
    page.run("toy.show({'broken': True})")
    assert page.hear("ill", "delta")["state"] == {"problem": "KeyError: 'broken'"}
    page.run("toy.show(call('hit', 'sin', note=object()))")
    assert "not JSON serializable" in page.hear("ill", "delta")["state"]["problem"]
    page.run("toy.show(call('hit', 'sin'))")
    assert page.hear("ill", "delta")["state"]["problem"] is None


def test_a_kernel_that_has_loaded_it_can_be_told_from_one_that_has_not(page: Client) -> None:
    assert page.comms() == {BEACON}
    page.run("%unload_ext zad_toy")
    assert page.comms() == set()
    page.run("%load_ext zad_toy")
    assert page.hear(BEACON, "hello")["protocol"] == 1


def test_old_comms_are_pruned_the_longest_silent_first(page: Client) -> None:
    names = [f"page{i}" for i in range(MOST_COMMS)]
    for name in names:
        page.attach(name)
    page.send("comm_msg", names[0], {"type": "snapshot?"})
    page.hear(names[0], "snapshot")
    page.attach("newest")
    page.hear(names[1], "closed")
    assert page.comms() == {BEACON, "newest", *names} - {names[1]}
    assert page.run("print(panel.attached)") == f"{MOST_COMMS}\n"


def test_a_panel_that_closes_is_forgotten_and_costs_nothing(page: Client) -> None:
    page.attach("brief")
    page.send("comm_close", "brief")
    assert page.comms() == {BEACON}
    asked = "import threading, time\nbefore = toy.asked; toy.show(call('hit', 'f')); time.sleep(.3)\n"
    names = "[t.name for t in threading.enumerate() if t.name == 'zad-panel']"
    assert page.run(f"{asked}print(toy.asked - before, {names})") == "0 []\n"


def test_unloading_leaves_nothing(page: Client) -> None:
    page.attach("last")
    left = page.run(
        "%unload_ext zad_toy\nimport threading\nmanager = get_ipython().kernel.comm_manager\n"
        "print([t.name for t in threading.enumerate() if t.name == 'zad-panel'], toy.callbacks, panel.attached,\n"
        "      'zad_jupyter' in manager.targets, [c for c in manager.comms.values() if c.target_name == 'zad_jupyter'])"
    )
    assert left == "[] [] 0 False []\n"
    page.hear("last", "closed")


def test_starting_and_stopping_twice_is_once(page: Client) -> None:
    assert page.run("print(panel.start(), len(toy.callbacks))") == "True 1\n"
    assert page.run("panel.stop(); panel.stop(); print(panel.attached)") == "0\n"


def test_outside_a_kernel_it_does_nothing() -> None:
    panel = Panel(SimpleNamespace(), source=None)  # type: ignore[arg-type]
    assert panel.start() is False
    panel.stop()


def test_a_very_large_tree_is_cut_level_by_level_and_says_what_is_missing() -> None:
    wide = {"function": "f", "children": [{"function": str(i), "children": [{"function": "x"}] * 3} for i in range(4)]}
    cut = _limited(wide, most=7)
    assert [len(child["children"]) for child in cut["children"]] == [2, 0, 0, 0]
    assert [child.get("hidden", 0) for child in cut["children"]] == [1, 3, 3, 3]
    assert len(wide["children"][0]["children"]) == 3
