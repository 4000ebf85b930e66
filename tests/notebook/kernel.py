"""A real kernel, typed into as a frontend does."""

from __future__ import annotations

import queue
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import KernelManager


@dataclass
class Reply:
    """What a frontend shows below a cell."""

    status: str = ""
    error: str = ""
    text: str = ""
    html: list[str] = field(default_factory=list)


class Kernel:
    """Runs cells in a kernel, each with an id as JupyterLab does, or without one as a console does."""

    def __init__(self, client: Any, manager: Any) -> None:
        self.client = client
        self.interrupt = manager.interrupt_kernel
        self.updates: list[str] = []  # what outputs were changed to, whatever cell they belong to

    def __call__(self, code: str, cell_id: str | None = None, timeout: float = 60) -> Reply:
        content = {
            "code": code, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": False, "stop_on_error": True,
        }  # fmt: skip
        message = self.client.session.msg("execute_request", content)
        if cell_id is not None:
            message["metadata"]["cellId"] = cell_id
        self.client.shell_channel.send(message)
        reply, idle = Reply(), False
        while not idle:
            try:
                said = self.client.get_iopub_msg(timeout=timeout)
            except queue.Empty:
                raise TimeoutError(f"the kernel did not finish {code!r}") from None
            self._noted(said)
            if said["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            kind, data = said["msg_type"], said["content"]
            if kind == "stream":
                reply.text += data["text"]
            elif kind in ("execute_result", "display_data"):
                reply.text += data["data"].get("text/plain", "") + "\n"
                reply.html.append(data["data"].get("text/html", ""))
            elif kind == "error":
                reply.error = f"{data['ename']}: {data['evalue']}"
                reply.text += re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(data["traceback"]))
            idle = kind == "status" and data["execution_state"] == "idle"
        while True:
            answer = self.client.get_shell_msg(timeout=timeout)
            if answer["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                reply.status = answer["content"]["status"]
                return reply

    def _noted(self, said: dict[str, Any]) -> None:
        if said["msg_type"] == "update_display_data":
            self.updates.append(said["content"]["data"].get("text/plain", ""))

    def updated(self, timeout: float = 5.0) -> str:
        """What an output is changed to next, or was since somebody asked last; "" if none is."""
        end = time.monotonic() + timeout
        while not self.updates and time.monotonic() < end:
            try:
                self._noted(self.client.get_iopub_msg(timeout=0.1))
            except queue.Empty:
                continue
        return self.updates.pop(0) if self.updates else ""

    def ok(self, code: str, cell_id: str | None = None) -> str:
        """Run a cell that must succeed; returns its words."""
        reply = self(code, cell_id)
        assert reply.status == "ok", reply.text
        return reply.text


@contextmanager
def running_kernel() -> Iterator[Kernel]:
    """A kernel of the interpreter that runs the tests."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(client, manager)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
