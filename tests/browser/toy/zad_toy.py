"""A stand-in for the extension: a Panel whose trees are typed by hand, so that the panel is tested by itself."""

from __future__ import annotations

from typing import Any

from zad_jupyter.notebook.panel import Panel


class Toy:
    """A source whose tree is whatever was last shown."""

    def __init__(self) -> None:
        self.shown: dict[str, Any] | None = None
        self.callbacks: list[Any] = []
        self.asked = 0

    def tree(self) -> dict[str, Any] | None:
        self.asked += 1
        if self.shown == {"broken": True}:
            raise KeyError("broken")
        return self.shown

    def subscribe(self, callback: Any) -> Any:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def show(self, tree: dict[str, Any] | None) -> None:
        self.shown = tree
        for callback in list(self.callbacks):
            callback()


def call(outcome: str, function: str, *children: Any, types: Any = ("ndarray",), **rest: Any) -> dict[str, Any]:
    """One node of the JSON tree."""
    empty = {"rule": None, "rulePlace": None, "place": None, "count": 0, "note": ""}
    return {"outcome": outcome, "function": function, "types": list(types), "children": list(children), **empty, **rest}


def example() -> dict[str, Any]:
    """The tree of the design's sketch."""
    det = {"rule": "det(a: Tri)", "rulePlace": "cell 6:1", "place": "cell 4:5", "types": ["Tri"]}
    shipped = {"rulePlace": "shipped"}
    return call(
        "recursed",
        "loss",
        call("recursed", "layer", call("hit", "matmul", rule="matmul(a: ndarray, b: ndarray)", types=["Tri", "ndarray"],
                                       place="cell 3:2", count=3, **shipped),
             types=["Tri", "ndarray"], count=3, place="cell 4:3"),
        call("opted-out", "det", call("hit", "np.diag", types=["Tri"], place="lib.py:9", count=1, **shipped),
             call("hit", "np.prod", place="lib.py:9", count=1, **shipped), count=1, **det),
        call("hit", "np.tanh", count=12, place="cell 4:6", rule="tanh(x: ndarray)", **shipped),
        call("inactive", "len", types=["list"], count=1, place="cell 4:7"),
        count=1,
        place="cell 4:1",
    )  # fmt: skip


toy = Toy()
panel: Panel | None = None


def load_ipython_extension(shell: Any) -> None:
    global panel
    panel = Panel(shell, toy)
    panel.start()
    shell.push({"toy": toy, "call": call, "example": example, "panel": panel})


def unload_ipython_extension(shell: Any) -> None:
    if panel is not None:
        panel.stop()
