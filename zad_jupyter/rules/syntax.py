"""Reading Python, in a process whose other threads may be reading Python too."""
from __future__ import annotations

import ast
import functools
import io
import linecache
import tokenize
from collections.abc import Iterator
from typing import Literal, overload

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
MAX_TEXTS = 256

# What modules whose files are followed are made of, line by line: their files may say something else already.
in_force: dict[str, list[str]] = {}


def lines_of(filename: str) -> list[str]:
    """The lines of a file or cell as they were compiled, as far as that is known."""
    found = in_force.get(filename)
    return linecache.getlines(filename) if found is None else found


def lines_in(content: bytes) -> list[str]:
    """The lines of a file's content, as Python and linecache read them; none if it cannot be decoded."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return io.TextIOWrapper(io.BytesIO(content), encoding).readlines()
    except (SyntaxError, UnicodeDecodeError):
        return []


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


class Text:
    """A text that was compiled as a whole, a file or a cell: read once for all functions in it.

    Attributes:
        lines: of it.
        tree: its syntax tree.
        functions: the definitions, by the name and by each line on which their code object may begin.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.tree = parse("".join(lines))
        self.functions: dict[tuple[int, str], list[FunctionNode]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Lambda):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.functions.setdefault((line, "<lambda>"), []).append(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault((first_line(node), node.name), []).append(node)

    @functools.cached_property
    def imports(self) -> tuple[str, ...]:
        """The names that it imports at its top level."""
        names = [(alias.asname or alias.name).partition(".")[0] for node in own_nodes(self.tree)
                 if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
        return tuple(name for name in dict.fromkeys(names) if name != "*")


_texts: dict[str, Text] = {}


def text_of(filename: str, lines: list[str]) -> Text:
    """What was read of a file or cell that has these lines.

    Raises:
        SyntaxError, ValueError: it is no Python (any more).
    """
    text = _texts.get(filename)
    if text is None or (text.lines is not lines and text.lines != lines):
        if len(_texts) >= MAX_TEXTS:
            _texts.clear()
        text = _texts[filename] = Text(lines)
    return text


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line on which a function's code object begins: that of its first decorator, if it has one."""
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body that are its own, not an inner function's or class's."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, FunctionNode | ast.ClassDef):
            yield from own_nodes(child)
