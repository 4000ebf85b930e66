"""What happened when a gradient was taken: the call tree and its four faces.

`tree` folds what the compiler recorded, `text`, `html` and `to_json` show it, and `Trace` is what
``zad_jupyter.trace(f, *args)`` returns: the result together with how it came about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zad_jupyter import api
from zad_jupyter.trace.html import html
from zad_jupyter.trace.json import to_json
from zad_jupyter.trace.text import text
from zad_jupyter.trace.tree import Limits, Node, summary, tree

if TYPE_CHECKING:
    from zad_jupyter.compiler.calls import Call

__all__ = ["Limits", "Node", "Trace", "html", "summary", "text", "to_json", "trace", "tree"]


@dataclass
class Trace:
    """One traced gradient.

    Attributes:
        value: what the function returned, or None when it failed.
        gradient: one gradient for each positional argument, or None when it failed.
        root: the call tree; after a failure it reaches to the failing call. None when nothing was compiled.
        error: the exception that ended it, or None.

    Example:
        >>> import math, zad_jupyter as zad
        >>> zad.trace(math.sin, 0.0).gradient
        (1.0,)
    """

    value: Any = None
    gradient: tuple[Any, ...] | None = None
    root: Call | None = None
    error: BaseException | None = None

    def tree(self) -> Node | None:
        """The folded tree that the faces are made from."""
        return None if self.root is None else tree(self.root)

    def to_json(self) -> dict[str, Any] | None:
        """The tree as JSON (docs/reference/trace.schema.json), or None when there is none."""
        node = self.tree()
        return None if node is None else to_json(node)

    def __str__(self) -> str:
        node = self.tree()
        lines = ["(no call was made)" if node is None else text(node)]
        if self.error is not None:
            lines.append(f"{type(self.error).__name__}: {self.error}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        failed = "" if self.error is None else f"{type(self.error).__name__}: {self.error}"
        node = self.tree()
        if node is None:
            return html(Node("error", "no call was made"), footer=failed)
        return html(node, footer=failed)


def trace(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Trace:
    """Take a gradient with every call counted.

    Args:
        f: a function with a scalar value.
        args: its arguments.
        kwargs: passed on, not differentiated.

    Returns:
        The value, the gradient and the tree of calls; after an error the tree up to the failing call, and the error.

    Example:
        >>> import math, zad_jupyter as zad
        >>> zad.trace(lambda x: math.sin(x) * 2, 0.0).gradient
        (2.0,)
    """
    return Trace(*api.traced(f, args, kwargs))
