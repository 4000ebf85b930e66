"""The line behind a magic: comments, ``-h``, and expressions in the person's own namespace.

IPython's own `magic_arguments` has no ``-h``, trips over a trailing comment and knows nothing of expressions.
What is wrong with a line is a `UsageError`: IPython shows its text without a traceback, and nbclient stops.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import io
import operator
import tokenize
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.MatMult: operator.matmul, ast.Pow: operator.pow, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv,
    ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip


def without_comment(line: str) -> str:
    """The line without a trailing comment; a ``#`` inside a string stays.

    >>> without_comment("which f('#1')   # why?")
    "which f('#1')"
    """
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError):
        pass  # not Python (yet); whoever parses it says what is wrong
    return line.strip()


def wants_help(line: str) -> bool:
    """Whether the line asks for help: ``-h`` or ``--help`` is one of its words."""
    return any(word in ("-h", "--help") for word in line.split())


def no_options(magic: str, line: str) -> None:
    """Refuse what looks like an option: none is known but ``-h``."""
    for word in line.split():
        if word.startswith("--") or (word.startswith("-") and word[1:].isalpha() and word == line):
            raise UsageError(f"{magic}: there is no option {word}; {magic} -h shows what can be written")


class Names:
    """The person's namespace, for evaluating what stands behind a magic.

    Arguments:
        shell: the IPython shell.
        name_for: gives a text a file name, so that a lambda written on the magic's line has its source.
    """

    def __init__(self, shell: Any, name_for: Callable[[str], str]) -> None:
        self.shell = shell
        self._name_for = name_for

    def lookup(self, name: str) -> Any:
        """What a bare name means now; raises KeyError when it means nothing."""
        for names in (self.shell.user_ns, self.shell.user_global_ns, vars(builtins)):
            if name in names:
                return names[name]
        raise KeyError(name)

    def target(self, magic: str, text: str) -> Any:
        """The callable that a dotted name or expression stands for.

        Errors:
            UsageError: it cannot be evaluated, or is not callable.
        """
        try:
            value = self._evaluate(magic, self._parse(magic, text), self._name_for(text))
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{magic}: {text}: {type(error).__name__}: {error}") from None
        if not callable(value):
            raise UsageError(f"{magic}: {text} is a {type(value).__name__}, and a rule belongs to something callable")
        return value

    def call(self, magic: str, text: str) -> tuple[Any, list[Any], dict[str, Any]]:
        """Evaluate the parts of the call that a text is, without making it; see `parts`."""
        if not text:
            raise UsageError(f"{magic}: write a call behind it, such as {magic} f(x)")
        return self.parts(magic, self._parse(magic, text), self._name_for(text))

    def parts(self, magic: str, node: ast.expr, filename: str) -> tuple[Any, list[Any], dict[str, Any]]:
        """Evaluate the parts of a call, without making it.

        An operator is a call too: ``a @ b`` is ``operator.matmul(a, b)``. What the parts raise is raised.

        Arguments:
            magic: who asks, for messages.
            node: the call.
            filename: what its parts are compiled under, so that a lambda among them has its source.

        Returns:
            The function, the list of positional arguments, and the dictionary of keywords.

        Errors:
            UsageError: it is not one call.
        """

        def value(part: ast.expr) -> Any:
            return self._evaluate(magic, part, filename)

        if isinstance(node, ast.Call):
            function = value(node.func)
            positional: list[Any] = []
            for part in node.args:
                if isinstance(part, ast.Starred):
                    positional.extend(value(part.value))
                else:
                    positional.append(value(part))
            keywords: dict[str, Any] = {}
            for keyword in node.keywords:
                keywords.update({keyword.arg: value(keyword.value)} if keyword.arg else value(keyword.value))
            return function, positional, keywords
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)], [value(node.left), value(node.right)], {}
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)], [value(node.operand)], {}
        if isinstance(node, ast.Subscript):
            return operator.getitem, [value(node.value), value(node.slice)], {}
        written = ast.unparse(node)
        raise UsageError(f"{magic}: {written} is not a call; write it with its arguments, such as {magic} f(x)")

    def _parse(self, magic: str, text: str) -> ast.expr:
        try:
            return ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise UsageError(f"{magic}: cannot read {text!r} as an expression ({error.msg})") from None

    def _evaluate(self, magic: str, node: ast.expr, filename: str) -> Any:
        __tracebackhide__ = True
        try:
            return eval(compile(ast.Expression(node), filename, "eval"), self.shell.user_global_ns, self.shell.user_ns)
        except NameError as error:
            below = error.__traceback__ and error.__traceback__.tb_next
            if below is not None and below.tb_next is not None:
                raise  # not a name on this line, but one in a function that the line calls
            raise UsageError(f"{magic}: {error}{self._meant(getattr(error, 'name', None))}") from None

    def _meant(self, name: str | None) -> str:
        close = difflib.get_close_matches(name or "", [n for n in self.shell.user_ns if not n.startswith("_")], n=1)
        return f"; did you mean {close[0]}?" if close else ""
