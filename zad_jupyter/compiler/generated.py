"""What has been generated: functions with their text, their small-language form, and the way to the user's lines."""

from __future__ import annotations

import ast
import itertools
import linecache
import types as pytypes
import weakref
from typing import Any

from . import types as T
from .ir import Function, Pos

_numbers = itertools.count(1)
_generated: dict[str, Generated] = {}
_forms: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()


class Late:
    """A function that is still being compiled: the recursion in its own body."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.target: Any = None
        self.result_type: Any = None
        self.waiting: list[tuple[dict[str, Any], str]] = []

    def resolve(self, target: Any) -> None:
        self.target = target
        for namespace, name in self.waiting:
            namespace[name] = target

    def __call__(self, *args: Any) -> Any:
        return self.target(*args)


class Generated:
    """A compiled function with its text and the table from its instructions to the user's source."""

    def __init__(
        self, function: Any, tree: ast.Module, filename: str, positions: list[Pos | None], guarded: bool
    ) -> None:
        self.function = function
        self.tree = tree
        self.filename = filename
        self.positions = positions
        self.guarded = guarded  # its first statement leaves when the function does not fit the call

    @property
    def text(self) -> str:
        return ast.unparse(self.tree) + "\n"

    @property
    def derivative(self) -> str:
        """The text without the check in front: what a person would have written."""
        if not self.guarded:
            return self.text
        [node] = self.tree.body
        assert isinstance(node, ast.FunctionDef)
        bare = ast.FunctionDef(node.name, node.args, node.body[1:], [], None, lineno=1, col_offset=0)
        return ast.unparse(ast.Module([bare], [])) + "\n"

    def position(self, code: pytypes.CodeType, lasti: int) -> Pos | None:
        """The user's position of an instruction."""
        found = next(itertools.islice(code.co_positions(), lasti // 2, None), None)
        column = found[2] if found is not None else None
        return self.positions[column] if column is not None and 0 < column < len(self.positions) else None


def define(
    name: str, node: ast.FunctionDef, namespace: dict[str, Any], positions: list[Pos | None], guarded: bool
) -> Generated:
    """Make the function of a syntax tree, and remember it under a file name of its own.

    Args:
        name: for people to read.
        node: the whole definition.
        namespace: the function's globals.
        positions: the user's position for each column number in the tree.
        guarded: the first statement is a check that the function fits its call.
    """
    filename = f"<zad {name} {next(_numbers)}>"
    tree = ast.Module([node], [])
    namespace.setdefault("__name__", f"zad {name}")
    defined: dict[str, Any] = {}
    exec(compile(tree, filename, "exec"), namespace, defined)
    made = Generated(defined[node.name], tree, filename, positions, guarded)
    _generated[filename] = made
    linecache.cache[filename] = (lambda: made.text,)  # asked for the text only when somebody looks
    return made


def find(filename: str) -> Generated | None:
    """What was compiled under a name, as long as its function is alive."""
    return _generated.get(filename)


def forget(filename: str) -> None:
    """Let a dropped function's text go."""
    _generated.pop(filename, None)
    linecache.cache.pop(filename, None)


def keep_form(made: Generated, form: Function) -> None:
    """Keep the small-language form of a compiled function, for when it is differentiated in turn."""
    _forms[made.function] = form


def form_of(f: Any) -> Function | None:
    """The small-language form of a compiled function, if that is what f is."""
    try:
        return _forms.get(f)
    except TypeError:
        return None


def result_type(form: Function) -> T.Type:
    """The type of what a compiled function gives."""
    found: T.Type | None = form.result_type
    return T.UNKNOWN if found is None else found
