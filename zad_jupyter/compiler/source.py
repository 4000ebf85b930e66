"""Text and syntax tree of a function as it was defined.

A file may have been edited since it was imported, and two lambdas may share a line. So a syntax tree is accepted only
if compiling the text it came from gives the very code object that the function has; otherwise the function is refused
with the reason, for a derivative of other code than runs is a wrong number.
"""

from __future__ import annotations

import ast
import linecache
import os
import types
import weakref
from collections.abc import Iterator
from typing import Any, TypeGuard

from ..rules.errors import UnsupportedError
from ..rules.syntax import Text, first_line, in_force, parse, text_of

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FUTURE = 0x1FE0000  # the compiler flags that `from __future__` sets
Definition = ast.FunctionDef | ast.Lambda


class SourceError(UnsupportedError):
    """The source of a function cannot be had, or is not what the function was made from."""


_codes: weakref.WeakKeyDictionary[Text, dict[int, frozenset[types.CodeType]]] = weakref.WeakKeyDictionary()


def _codes_of(text: Text, filename: str, flags: int) -> frozenset[types.CodeType]:
    """Every code object that compiling a text makes, however deeply nested.

    A notebook compiles a cell statement by statement, and `m.f()` becomes other instructions where the same unit
    imports m: so both ways are tried.
    """
    known = _codes.setdefault(text, {})
    if flags not in known:
        found: set[types.CodeType] = set()
        body = text.tree.body
        units = [text.tree, *[ast.Module([statement], []) for statement in body if len(body) > 1]]
        todo = [compile(unit, filename, "exec", flags=flags, dont_inherit=True) for unit in units]
        while todo:
            code = todo.pop()
            found.add(code)
            todo += inner_codes(code)
        known[flags] = frozenset(found)
    return known[flags]


def definition(code: types.CodeType) -> Definition:
    """Find the syntax tree of the `def` or `lambda` that a code object was compiled from.

    Args:
        code: the code object of a Python function.

    Returns:
        The `ast.FunctionDef` or `ast.Lambda` node, with positions as in the user's file.

    Raises:
        SourceError: there is no source, or it has changed since the function was defined.
    """
    filename = code.co_filename
    if filename.startswith(PACKAGE):
        quick = _on_one_line(code)
        if quick is not None:
            return quick
    known = in_force.get(filename)
    node = None if known is None else _defined_in(known, code)
    if node is not None:
        return node
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    if not lines:
        raise SourceError(
            f"{code.co_name} has no source text that can be read ({filename}:{code.co_firstlineno}), so the compiler "
            f"cannot look inside it. Write a rule for it, or define it in a file or a cell."
        )
    node = _defined_in(lines, code)
    if node is None:
        raise _changed(code)
    return node


def _defined_in(lines: list[str], code: types.CodeType) -> Definition | None:
    try:
        text = text_of(code.co_filename, lines)
    except (SyntaxError, ValueError):
        return None
    found = text.functions.get((code.co_firstlineno, code.co_name), [])
    node = _only([node for node in found if not isinstance(node, ast.AsyncFunctionDef)], code)
    known = node is not None and code in _codes_of(text, code.co_filename, code.co_flags & FUTURE)
    return node if known else None


def _changed(code: types.CodeType) -> SourceError:
    return SourceError(
        f"{code.co_name} was defined at {code.co_filename}:{code.co_firstlineno}, but that place says something else "
        f"now. Import the file again, or run the cell again, and take the gradient of the new function."
    )


def _on_one_line(code: types.CodeType) -> Definition | None:
    """A shipped rule is a lambda on one line: reading that line spares parsing the whole file."""
    line = linecache.getline(code.co_filename, code.co_firstlineno)
    try:
        tree = parse(line.strip())
    except SyntaxError:
        return None
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    indent = len(line) - len(line.lstrip())
    node: Any  # those that have a place
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset += indent
            node.end_col_offset += indent
    return _only([node for node in ast.walk(tree) if _could_be(node, code)], code)


def _only(found: list[Definition], code: types.CodeType) -> Definition | None:
    """The one definition that a code object can have been made from."""
    if len(found) > 1:
        found = _around(code, found)
    return found[0] if len(found) == 1 else None


def _could_be(node: ast.AST, code: types.CodeType) -> TypeGuard[Definition]:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
    if isinstance(node, ast.FunctionDef):
        return node.name == code.co_name and first_line(node) == code.co_firstlineno
    return False


def _around(code: types.CodeType, nodes: list[Definition]) -> list[Definition]:
    """The smallest of some definitions whose body holds every instruction of a code object."""
    spots = [p for p in code.co_positions() if p[0] is not None and p[2] is not None and p[2:] != (0, 0)]

    def extent(node: Definition) -> tuple[tuple[int, int], tuple[int, int]]:
        body = node.body if isinstance(node, ast.Lambda) else node
        return (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)

    holding = [
        node for node in nodes
        if all(extent(node)[0] <= (p[0], p[2]) and (p[1], p[3]) <= extent(node)[1] for p in spots)
    ]  # fmt: skip
    inner = [
        node
        for node in holding
        if not any(other is not node and _within(extent(other), extent(node)) for other in holding)
    ]
    return inner if len(inner) == 1 else []


def _within(inner: tuple[Any, Any], outer: tuple[Any, Any]) -> bool:
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


def inner_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code objects of the functions defined directly inside a function."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const


def inner_code(code: types.CodeType, node: Definition) -> types.CodeType | None:
    """The code object, among those inside `code`, that a nested definition compiles to."""
    found = [inner for inner in inner_codes(code) if _could_be(node, inner)]
    if len(found) > 1:
        found = [inner for inner in found if _around(inner, [node])]
    return found[0] if found else None
