"""The kernel's end of the panel: a comm target that answers with a snapshot, then sends numbered deltas.

The panel (labextension/) is a view, and all state lives here. The conversation is four messages long:

    panel  → kernel   comm_open "zad_jupyter"  {"protocol": 1}
    panel  → kernel   {"type": "snapshot?"}
    kernel → panel    {"type": "snapshot", "seq": n, "state": {...}}
    kernel → panel    {"type": "delta", "seq": n + 1, "state": {the keys that changed}}

A panel that misses a number asks for a snapshot again. Deltas are coalesced to ten a second, by a thread that
exists only while a panel is attached: taking a gradient costs one flag.

Three things here are not as one would first write them, each because of how comms behave in ipykernel 7:

* We send with `kernel.session.send`, never with `comm.send`: after a `comm.send` inside a cell, the kernel routes the
  panel's next message to the shell that runs the cell, where it waits for the cell to end.
* Messages from the panel arrive in another thread while a cell runs, so everything is behind one lock.
* Opening a target that a kernel does not know prints an error in the user's notebook, so a panel must be able to ask
  first. `comm_info` lists open comms and not targets; the *beacon*, a comm that nobody listens to, is what it finds.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from comm.base_comm import BaseComm

PROTOCOL = 1
TARGET = "zad_jupyter"
BEACON = "zad_jupyter-beacon"
INTERVAL = 0.1  # seconds between two deltas: Lab drops a cell's output past 1,000 messages a second
MOST_COMMS = 16  # a page that was closed or reloaded leaves its comm behind; the longest silent goes first
MOST_NODES = 2_000  # of one tree; what is beyond is counted, so that the panel can say so

log = logging.getLogger(__name__)

State = dict[str, Any]


class Source(Protocol):
    """What the panel shows: the last gradient's selection tree, and when there is a new one."""

    def tree(self) -> dict[str, Any] | None:
        """The tree as JSON (outcome, function, types, rule, rulePlace, place, count, note, children), or None."""

    def subscribe(self, callback: Callable[..., object], /) -> Callable[[], object]:
        """Call `callback` after every change, from any thread; returns what ends it."""


class Panel:
    """Keeps every attached panel up to date with `source`, from `start()` to `stop()`.

    Arguments:
        shell: the IPython shell. Outside a kernel (terminal IPython) nobody is there to talk to: `start` does nothing.
        source: where the state comes from, see `Source`.

    Example:
        >>> panel = Panel(get_ipython(), source)    # doctest: +SKIP
        >>> panel.start()                           # doctest: +SKIP
        True
        >>> panel.stop()                            # doctest: +SKIP
    """

    def __init__(self, shell: Any, source: Source) -> None:
        self._kernel: Any = getattr(shell, "kernel", None)
        self._source = source
        self._lock = threading.RLock()
        self._links: dict[str, _Link] = {}  # by comm id, the longest silent first
        self._beacon: _Beacon | None = None
        self._unsubscribe: Callable[[], object] | None = None
        self._worker: _Worker | None = None

    def start(self) -> bool:
        """Begin to listen for panels. Returns False where there is no kernel; twice is once."""
        manager = getattr(self._kernel, "comm_manager", None)
        if manager is None:
            return False
        with self._lock:
            if self._beacon is None:
                self._beacon = _Beacon(comm_id=BEACON, target_name=TARGET, primary=False)
                manager.register_target(TARGET, self._opened)
                manager.register_comm(self._beacon)
                self._unsubscribe = self._source.subscribe(self._changed)
                # A panel that already looks at this kernel learns of it here, in mid-cell if need be; clients that
                # do not know the beacon ignore it, as a comm_open would not be.
                self._publish(self._beacon, {"type": "hello", "protocol": PROTOCOL})
        return True

    def stop(self) -> None:
        """Close every comm and leave nothing behind: no target, no comm, no subscription, no thread."""
        with self._lock:
            if self._beacon is None:
                return
            manager = self._kernel.comm_manager
            if manager.targets.get(TARGET) == self._opened:
                manager.unregister_target(TARGET, self._opened)
            if manager.comms.get(BEACON) is self._beacon:
                manager.unregister_comm(self._beacon)
            self._beacon = None
            if self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None
            worker = self._worker  # the last link to go takes it along
            for link in list(self._links.values()):
                self._drop(link, close=True)
        if worker is not None:
            worker.stop()

    @property
    def attached(self) -> int:
        """How many panels are attached just now."""
        return len(self._links)

    # -- panel → kernel: called by the comm manager, in whichever thread the message came to -------------------------

    def _opened(self, comm: Any, message: dict[str, Any]) -> None:
        with self._lock:
            if self._beacon is None:  # stopped between the panel's question and its comm_open
                comm.close()
                return
            opening = message["content"].get("data")
            page = opening.get("page") if isinstance(opening, dict) else None
            for old in [link for link in self._links.values() if page is not None and link.page == page]:
                self._drop(old, close=True)  # the page was reloaded: nobody listens there any more
            while len(self._links) >= MOST_COMMS:
                self._drop(next(iter(self._links.values())), close=True)
            link = self._links[comm.comm_id] = _Link(comm, page)
            comm.on_msg(lambda message: self._received(link, message))
            comm.on_close(lambda message: self._drop(link, close=False))
            if self._worker is None:
                self._worker = _Worker(self._send_deltas)

    def _received(self, link: _Link, message: dict[str, Any]) -> None:
        data = message["content"].get("data")
        if not isinstance(data, dict) or data.get("type") != "snapshot?":
            return  # a newer panel may ask what we cannot answer: silence is better than a traceback in a cell
        with self._lock:
            if self._links.get(link.comm.comm_id) is not link:
                return
            self._links[link.comm.comm_id] = self._links.pop(link.comm.comm_id)  # heard from: now the last to be pruned
            self._tell(link, "snapshot", self._state())

    def _drop(self, link: _Link, close: bool) -> None:
        with self._lock:
            self._links.pop(link.comm.comm_id, None)
            if close:
                with contextlib.suppress(KeyError):  # a "%reset" of the comm manager came first
                    link.comm.close()
            worker = self._worker
            if worker is not None and not self._links:
                self._worker = None
                worker.finish()

    # -- kernel → panel ----------------------------------------------------------------------------------------------

    def _changed(self, *_: object) -> None:
        worker = self._worker
        if worker is not None:
            worker.wake()

    def _send_deltas(self) -> None:
        with self._lock:
            links = [link for link in self._links.values() if link.sent]
            if not links:
                return
            state = self._state()
            for link in links:
                changed = {key: state[key] for key in state if link.sent[key] != state[key]}
                if changed:
                    self._tell(link, "delta", changed)

    def _state(self) -> State:
        """Everything that the panel shows. A source that fails is shown as such, and asked again at the next change."""
        try:
            # There and back: a copy that nobody changes while we compare, and an error here rather than in `send`.
            tree = json.loads(json.dumps(self._source.tree()))
            return {"protocol": PROTOCOL, "tree": None if tree is None else _limited(tree), "problem": None}
        except Exception as error:
            log.debug("the panel's source failed", exc_info=True)
            return {"protocol": PROTOCOL, "tree": None, "problem": f"{type(error).__name__}: {error}"}

    def _tell(self, link: _Link, type_: str, state: State) -> None:
        link.seq += 1
        link.sent |= state
        self._publish(link.comm, {"type": type_, "seq": link.seq, "state": state})

    def _publish(self, comm: Any, data: dict[str, Any]) -> None:
        kernel = self._kernel
        content = {"comm_id": comm.comm_id, "data": data}
        # The parent is left empty: it would name whichever cell ran last, which says nothing about this message.
        kernel.session.send(kernel.iopub_socket, "comm_msg", content, parent={}, ident=comm.topic)


class _Link:
    """One attached panel: its comm, the number of the last message, and what it was last told, key by key."""

    def __init__(self, comm: Any, page: Any) -> None:
        self.comm = comm
        self.page = page
        self.seq = 0
        self.sent: State = {}  # empty until the first snapshot: no delta before it


class _Beacon(BaseComm):
    """A comm that is listed by `comm_info` and says nothing, not even when it is collected."""

    def publish_msg(self, *_: Any, **__: Any) -> None:
        pass


class _Worker:
    """A daemon thread that calls `work` after `wake()`, at most once in `INTERVAL` seconds; many wakes are one."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._awake = threading.Event()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="zad-panel", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._awake.set()

    def finish(self) -> None:
        """Tell the thread to end, without waiting for it."""
        self._done.set()
        self._awake.set()

    def stop(self) -> None:
        """End the thread; when this returns it is gone."""
        self.finish()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2)

    def _run(self) -> None:
        while True:
            self._awake.wait()
            if self._done.is_set():
                return
            self._awake.clear()
            try:
                self._work()
            except Exception:  # never printed: the output would land in whichever cell is running
                log.debug("a delta could not be sent", exc_info=True)
            self._done.wait(INTERVAL)


def _limited(tree: dict[str, Any], most: int = MOST_NODES) -> dict[str, Any]:
    """A copy of the first `most` nodes, level by level; a node whose children were left out says how many in "hidden".

    >>> cut = _limited({"function": "f", "children": [{"function": "sin"}] * 3}, most=3)
    >>> len(cut["children"]), cut["hidden"]
    (2, 1)
    """
    root = dict(tree)
    level, left = [root], most - 1
    while level:
        below = []
        for node in level:
            children = node.get("children") or []
            node["children"] = [dict(child) for child in children[: max(left, 0)]]
            left -= len(node["children"])
            if len(node["children"]) < len(children):
                node["hidden"] = node.get("hidden", 0) + len(children) - len(node["children"])
            below.extend(node["children"])
        level = below
    return root
