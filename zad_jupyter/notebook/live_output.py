"""``%zad live EXPR``: an output that recomputes itself, in place, when something that it depended on has changed.

What it depended on is known from its last evaluation: the gradients that ran (with their rules, functions and
globals), the objects that its names meant, and the files in which all of these are written. It is looked at when the
kernel has nothing else to do: after a cell, and after files were loaded.
"""

from __future__ import annotations

import ast
import contextlib
import io
import time
import traceback
from collections.abc import Callable, Iterable
from html import escape
from types import CodeType, FunctionType
from typing import Any

from IPython.core.error import UsageError
from IPython.display import DisplayHandle

from zad_jupyter.compiler import cache, doors
from zad_jupyter.compiler.cache import Entry
from zad_jupyter.compiler.runtime import is_readable
from zad_jupyter.rules import registry

MOST_NAMES = 500  # that are followed from one expression
SLOW = 1.0  # seconds: what takes longer is recomputed only when asked for


class View:
    """What stands in the output: the value as IPython shows it, and a line about its life."""

    def __init__(self, bundle: dict[str, Any], line: str) -> None:
        self.bundle = bundle
        self.line = line

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        text = str(self.bundle.get("text/plain", ""))
        html = self.bundle.get("text/html") or f"<pre>{escape(text)}</pre>"
        return {
            **self.bundle,
            "text/plain": f"{text}\n{self.line}",
            "text/html": f'{html}<div style="opacity:.65">{escape(self.line)}</div>',
        }


class Output:
    """One live output.

    Arguments:
        text: the expression.
        evaluate: computes it.
        shell: whose names it uses.
        cell: of which it is a part.
    """

    def __init__(self, text: str, evaluate: Callable[[], Any], shell: Any, cell: object) -> None:
        self.text = text
        self.cell = cell
        self.shell = shell
        self.seconds = 0.0
        self.times = 0
        self.stale = False
        self.stopped = ""
        self._evaluate = evaluate
        self._names = sorted({node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)})
        self._handle: Any = DisplayHandle()
        self._bundle: dict[str, Any] = {}
        self._entries: dict[Entry, Any] = {}
        self._meant: list[tuple[dict[str, Any], str, Any]] = []
        self._failed_at: int | None = None  # the generation of the rules when it raised something
        self.files: set[str] = set()

    def show(self) -> None:
        """Compute and show it for the first time; what it raises is raised."""
        self._compute()
        self._handle.display(self._view())

    def refresh(self) -> None:
        """Compute it again, and show it in place; an error is shown as its value, an interrupt ends it."""
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it would land in whatever cell ran last
                self._compute()
        except KeyboardInterrupt:
            self.stop("stopped by an interrupt")
            return
        except Exception as error:
            self._bundle = {"text/plain": traceback.format_exception_only(type(error), error)[-1].rstrip()}
        self.stale = False
        self._handle.update(self._view())

    def let_wait(self) -> None:
        """It takes too long to be recomputed unasked: say that it is out of date."""
        if not self.stale:
            self.stale = True
            self._handle.update(self._view())

    def stop(self, why: str) -> None:
        """It stays as it is from now on."""
        self.stopped = why
        self._handle.update(self._view())

    def changed(self, files: set[str]) -> bool:
        """Whether something is different from when it was computed.

        Arguments:
            files: those that were loaded since.
        """
        if files & self.files:
            return True
        if self._failed_at is not None and (files or self._failed_at != registry.generation):
            return True  # how far it would have come without the error, nobody knows
        if any(_meaning(names.get(name)) != meant for names, name, meant in self._meant):
            return True
        return not all(cache.usable(entry, f) for entry, f in self._entries.items())

    def _compute(self) -> None:
        began = time.perf_counter()
        self.times += 1
        with doors.recording() as entries:
            try:
                value = self._evaluate()
                self._failed_at = None
            except BaseException:
                self._failed_at = registry.generation
                raise
            finally:
                self._entries = entries
                self._meant = _meanings(self.shell.user_ns, self._names)
                self.files = _files(entries)
                for names, name, _ in self._meant:
                    self.files |= {file for file in (_file_of(names.get(name)),) if file is not None}
                self.seconds = time.perf_counter() - began
        self._bundle = dict(self.shell.display_formatter.format(value)[0])

    def _view(self) -> View:
        at = time.strftime("%H:%M:%S")
        if self.stopped:
            line = f"{self.text}: {self.stopped}"
        elif self.stale:
            line = f"{self.text}: out of date; it takes {self.seconds:.1f} s, so %zad live --now recomputes it"
        else:
            line = f"live: {self.text}, at {at}" + (f", computed {self.times} times" if self.times > 1 else "")
        return View(self._bundle, line)


class LiveOutputs:
    """The live outputs of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.outputs: list[Output] = []
        self._files: set[str] = set()
        self._refreshing = False

    def start(self, text: str, evaluate: Callable[[], Any], cell: object) -> None:
        """Show a new live output."""
        output = Output(text, evaluate, self.shell, cell)
        output.show()
        if getattr(self.shell, "kernel", None) is not None:  # a terminal cannot change what it has printed
            self.outputs.append(output)

    def stop(self, why: str = "stopped", cell: object = None) -> int:
        """Stop all of them, or those of a cell; gives how many."""
        ended = [output for output in self.outputs if cell is None or output.cell == cell]
        self.outputs = [output for output in self.outputs if output not in ended]
        for output in ended:
            output.stop(why)
        return len(ended)

    def loaded(self, files: set[str]) -> None:
        """Files were loaded."""
        self._files |= files

    def refresh(self, now: bool = False) -> None:
        """Recompute what depends on something that has changed; `now`: also what takes long.

        What one of them changes while it is computed sets none off: that is seen at the next occasion.
        """
        if self._refreshing:
            return
        self._refreshing = True
        files, self._files = self._files, set()
        try:
            for output in [output for output in self.outputs if output.stale or output.changed(files)]:
                if output.seconds > SLOW and not now:
                    output.let_wait()
                else:
                    output.refresh()
            self.outputs = [output for output in self.outputs if not output.stopped]
        finally:
            self._refreshing = False


def parse(text: str) -> ast.expr:
    """The expression behind ``%zad live``.

    Errors:
        UsageError: it is none.
    """
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise UsageError(f"%zad live: cannot read {text!r} as an expression ({error.msg})") from None


def _meaning(value: Any) -> tuple[int, int]:
    """What a name meant: which object, and which code if it is a function."""
    return id(value), id(getattr(value, "__code__", None))


def _meanings(names: dict[str, Any], written: list[str]) -> list[tuple[dict[str, Any], str, Any]]:
    """What some names mean, and the names of functions and classes that the functions among them use in turn."""
    found: list[tuple[dict[str, Any], str, Any]] = []
    todo = [(names, name) for name in written]
    seen = {(id(names), name) for name in written}
    while todo and len(found) < MOST_NAMES:
        where, name = todo.pop()
        value = where.get(name)
        found.append((where, name, _meaning(value)))
        if isinstance(value, FunctionType) and is_readable(value):
            for inner in _names_in(value.__code__):
                used, key = value.__globals__.get(inner), (id(value.__globals__), inner)
                if isinstance(used, FunctionType | type) and is_readable(used) and key not in seen:
                    seen.add(key)
                    todo.append((value.__globals__, inner))
    return found


def _names_in(code: CodeType) -> set[str]:
    inside = [_names_in(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inside)


def _file_of(value: Any) -> str | None:
    code = getattr(value, "__code__", None)
    return None if code is None else str(code.co_filename)


def _files(entries: Iterable[Entry]) -> set[str]:
    """The files in which what gradients depend on is written."""
    found: set[str] = set()
    for entry in entries:
        for part in entry.everything():
            for made in part.code:
                found.update(pos.file for pos in made.positions if pos is not None)
            for _, values in part.guards.parts.values():
                found.update(file for value in values if (file := _file_of(value)) is not None)
            found.update(
                answer.rule.place.file
                for answer in part.questions.values()
                if getattr(answer, "rule", None) is not None and answer.rule.place.file is not None
            )
    return found
