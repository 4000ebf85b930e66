"""Reading Python, in a process whose other threads may be reading Python too."""
from __future__ import annotations

import ast
import linecache
from typing import Literal, overload

# What modules whose files are followed are made of, line by line: their files may say something else already.
in_force: dict[str, list[str]] = {}


def lines_of(filename: str) -> list[str]:
    """The lines of a file or cell as they were compiled, as far as that is known."""
    found = in_force.get(filename)
    return linecache.getlines(filename) if found is None else found


@overload
def parse(text: str | bytes, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parse(text: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def parse(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """`ast.parse`, which in some releases of CPython fails when another thread parses at the same time.

    Raises:
        SyntaxError: the text is no Python.
    """
    for _ in range(20):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:           # "AST constructor recursion depth mismatch", python/cpython#106905
            continue
    return ast.parse(text, mode=mode)
