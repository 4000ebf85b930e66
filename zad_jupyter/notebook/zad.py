"""The magics ``%zad`` and ``%%zad``: one word says what to show or do.

Each subcommand is a method of `Zad` named after it; its docstring is its help. What a command shows it returns, so that
``report = %zad which f(x)`` works, too. Everything here has a twin in plain Python.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

from zad_jupyter import api
from zad_jupyter.live import Live
from zad_jupyter.notebook import live_output
from zad_jupyter.notebook.arguments import Names, no_options, wants_help
from zad_jupyter.notebook.cells import Cells
from zad_jupyter.notebook.display import RulesTable
from zad_jupyter.notebook.live_output import LiveOutputs
from zad_jupyter.rules import registry, which_rule
from zad_jupyter.trace import trace as run_trace

COMMANDS = ("rules", "which", "trace", "adjoint", "on", "off", "watch", "unwatch", "changes", "live", "help")

USAGE = """\
%zad WORD [ARGUMENT]

Shows which rule each call gets, and why; %zad help lists the words, %zad WORD -h explains one."""


class Zad:
    """Answers ``%zad`` in one shell."""

    def __init__(self, shell: Any, cells: Cells, names: Names, files: Live, outputs: LiveOutputs) -> None:
        self.shell = shell
        self.cells = cells
        self.names = names
        self.files = files
        self.outputs = outputs

    def line(self, line: str) -> Any:
        """Run ``%zad LINE``, a line without comment."""
        command, _, argument = line.partition(" ")
        argument = argument.strip()
        if command in ("", "-h", "--help"):
            return self.help("")
        if command not in COMMANDS:
            raise UsageError(f"%zad: there is no subcommand {command!r}; there are {', '.join(COMMANDS)}")
        if argument in ("-h", "--help"):
            return self.help(command)
        if command != "live":
            no_options(f"%zad {command}", argument)
        run: Callable[[str], Any] = getattr(self, command)
        return run(argument)

    def cell(self, line: str, body: str) -> Any:
        """Run ``%%zad trace``."""
        if wants_help(line):
            return self.help("trace")
        if line != "trace":
            raise UsageError("%%zad: only %%zad trace takes a cell")
        return self._trace_cell(body)

    # -- the subcommands; the first line of each docstring is its line in the help -----------------------------------

    def rules(self, argument: str) -> RulesTable:
        """%zad rules [F]       every rule you wrote, or every rule of F, shipped ones included"""
        if argument:
            found = list(registry.rules(self.names.target("%zad rules", argument)))
            if not found:
                print(f"there is no rule for {argument}")
            return RulesTable(found, notes=self.files.standing())
        every = list(registry.rules())
        mine = [rule for rule in every if rule.layer == "user"]
        return RulesTable(mine, len(every) - len(mine), self.files.standing())

    def which(self, argument: str) -> Any:
        """%zad which f(x)      which rule this call gets, and why not the others; the call is not made"""
        f, positional, keywords = self.names.call("%zad which", argument)
        return which_rule(f, *positional, **keywords)

    def trace(self, argument: str) -> Any:
        """%zad trace f(x)      take the gradient of f at x, and show every call and its rule; %%zad trace for a cell"""
        return self._traced(*self.names.call("%zad trace", argument))

    def adjoint(self, argument: str) -> Any:
        """%zad adjoint f(x)    the Python code that computes the gradient of f at x"""
        f, positional, keywords = self.names.call("%zad adjoint", argument)
        return api.adjoint_source(f, *positional, **keywords)

    def on(self, argument: str) -> None:
        """%zad on RULE         switch a rule on again; RULE as %zad rules shows it: its name, its place, or F"""
        self._switch("on", argument)

    def off(self, argument: str) -> None:
        """%zad off RULE        switch a rule off for this session, as if it were not there"""
        self._switch("off", argument)

    def watch(self, argument: str) -> None:
        """%zad watch [PATH]    follow a file, or all of a folder; without PATH, what is watched and how"""
        if argument:
            try:
                found = self.files.watch(_path(argument))
            except FileNotFoundError as error:
                raise UsageError(f"%zad watch: {error}") from None
            print(f"watching {', '.join(source.label for source in found) or 'nothing: there is no .py file'}")
        else:
            print(self.files.text())

    def unwatch(self, argument: str) -> None:
        """%zad unwatch PATH    do not follow a file, or those of a folder, any more"""
        if not argument:
            raise UsageError("%zad unwatch: name a file or a folder; %zad watch lists what is watched")
        gone = self.files.unwatch(_path(argument))
        if not gone:
            raise UsageError(f"%zad unwatch: {argument} is not watched; %zad watch lists what is")
        print(f"not watching {', '.join(os.path.basename(path) for path in gone)} any more")

    def live(self, argument: str) -> None:
        """%zad live EXPR       an output that recomputes itself when a rule, function or file it depended on changes;
        %zad live --stop ends all of them, %zad live --now recomputes those that take over a second"""
        if argument == "--stop":
            count = self.outputs.stop()
            print(f"stopped {count} live output{'s' * (count != 1)}" if count else "there is no live output")
        elif argument == "--now":
            self.outputs.refresh(now=True)
        elif not argument or argument.startswith("--"):
            raise UsageError("%zad live: write an expression, such as %zad live gradient(f, 2.0); or --stop, or --now")
        else:
            node = live_output.parse(argument)
            filename = self.cells.name_for(argument)
            code = compile(ast.Expression(node), filename, "eval")
            names = self.shell
            self.outputs.start(argument, lambda: eval(code, names.user_global_ns, names.user_ns), self.cells.identity)

    def changes(self, argument: str) -> None:
        """%zad changes         what became of each change: rules, and the gradients dropped for it and why"""
        if argument:
            raise UsageError("%zad changes takes no argument")
        print("\n".join([self.files.changes.text(), *self.files.standing()]))

    def help(self, argument: str) -> None:
        """%zad help [WORD]     this"""
        if argument and argument not in COMMANDS:
            raise UsageError(f"%zad help: there is no subcommand {argument!r}; there are {', '.join(COMMANDS)}")
        words = [argument] if argument else COMMANDS
        print("\n".join(inspect.getdoc(getattr(Zad, word)) or "" for word in words))
        if not argument:
            print("%%rrule [TARGET]     a cell of rules; %%rrule -h says more")

    # -- how they do it ----------------------------------------------------------------------------------------------

    def _switch(self, word: str, argument: str) -> None:
        magic = f"%zad {word}"
        if not argument:
            raise UsageError(f"{magic}: name a rule, as %zad rules shows it")
        rule = self._rule(magic, argument)
        registry.switch(rule, word == "on")
        print(f"{rule.name} ({rule.place}) is {word}" + (" for this session" if word == "off" else ""))

    def _rule(self, magic: str, argument: str) -> Any:
        """The one rule that is meant by a name, a place, both, or its function."""
        wanted = _spaceless(argument)
        every = list(registry.rules())
        found = [r for r in every if wanted in map(_spaceless, (r.name, r.place, f"{r.name} {r.place}"))]
        if not found and "(" not in argument and ":" not in argument:
            found = list(registry.rules(self.names.target(magic, argument)))
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"{magic}: there is no rule {argument}; %zad rules lists them")
        several = "".join(f"\n  {rule.name} {rule.place}" for rule in found)
        raise UsageError(f"{magic}: {argument} could be any of these; write one of them:{several}")

    @staticmethod
    def _traced(f: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        # Who thinks of the gradient writes it down: `gradient(f, x)` and `grad(f)(x)` mean the same as `f(x)` here.
        if f is api.gradient and positional:
            f, *positional = positional
        elif isinstance(f, api.Derivative):
            f = f.f
        if keywords:  # `f(x=3.0)` means what `f(3.0)` means
            with contextlib.suppress(TypeError, ValueError):
                bound = inspect.signature(f).bind(*positional, **keywords)
                positional, keywords = list(bound.args), dict(bound.kwargs)
        return run_trace(f, *positional, **keywords)

    def _trace_cell(self, body: str) -> Any:
        """Run all of a cell but its last line as usual, and trace the call that stands there."""
        tree, filename = self.cells.parse("%%zad", body)
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, ast.Expr):
            raise UsageError("%%zad trace: the cell must end with the call to trace, such as f(x)")
        for statement in tree.body[:-1]:
            self.cells.execute(statement, filename)
        return self._traced(*self.names.parts("%%zad trace", last.value, filename))


def _path(argument: str) -> str:
    """A path as typed: with quotes, if it has blanks in it."""
    quoted = len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "'\""
    return argument[1:-1] if quoted else argument


def _spaceless(thing: object) -> str:
    return "".join(str(thing).split())
