"""Reading Python, in a process whose other threads may be reading Python too."""
from __future__ import annotations

import ast
from typing import Literal, overload


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
