"""The extension as a whole: what `%load_ext` puts into a shell, and takes out again to the last piece."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from IPython.core.magic import no_var_expand
from IPython.display import display

from zad_jupyter import api
from zad_jupyter.notebook import completion
from zad_jupyter.notebook.arguments import Names, wants_help, without_comment
from zad_jupyter.notebook.cells import Cells
from zad_jupyter.notebook.files import Files
from zad_jupyter.notebook.live_output import LiveOutputs
from zad_jupyter.notebook.ownership import Execution
from zad_jupyter.notebook.rule_cell import USAGE as RRULE_USAGE
from zad_jupyter.notebook.rule_cell import RuleCell
from zad_jupyter.notebook.zad import COMMANDS, Zad
from zad_jupyter.notebook.zad import USAGE as ZAD_USAGE
from zad_jupyter.rules import Change, Explanation, places, registry
from zad_jupyter.trace import to_json, tree

_MISSING = object()


class LastTree:
    """What the panel shows: the call tree of the last gradient, looked at anew after every cell and change of rules."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[..., object]] = []

    def tree(self) -> dict[str, Any] | None:
        """The tree as JSON, or None before the first gradient."""
        root = api.last_call_tree()
        return None if root is None else to_json(tree(root))

    def subscribe(self, callback: Callable[..., object], /) -> Callable[[], object]:
        """Call ``callback`` when there may be something new; returns what ends it."""
        self._callbacks.append(callback)

        def heard(change: Change) -> None:
            callback(change)

        unsubscribe = registry.subscribe(heard)

        def end() -> None:
            unsubscribe()
            with contextlib.suppress(ValueError):
                self._callbacks.remove(callback)

        return end

    def changed(self) -> None:
        """Say that there may be something new."""
        for callback in list(self._callbacks):
            callback()


class Extension:
    """zad in one IPython shell, between `start` and `stop`."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.cells = Cells(shell)
        names = Names(shell, self.cells.name_for)
        self.rule_cell = RuleCell(shell, self.cells, names)
        self.source = LastTree()
        self.outputs = LiveOutputs(shell)
        self.files = Files(shell, self._loaded)
        self.zad = Zad(shell, self.cells, names, self.files.live, self.outputs)
        self.panel: Any = None
        self._executions: dict[str, Execution] = {}
        self._announcements: list[str] = []
        self._undo = contextlib.ExitStack()  # everything that start did, undone in reverse

    def start(self) -> None:
        """Register the magics, the hooks, the completer, and in a kernel the panel's end."""
        with contextlib.ExitStack() as undo:
            self.cells.register_past()
            undo.callback(places.forget_cells)
            self._magics(undo)
            self.files.start(undo)
            self.files.live.changes.listeners.append(lambda event: self.outputs.loaded(set(event.files)))
            undo.callback(self.outputs.stop)
            undo.callback(registry.subscribe(self._rules_changed))
            self._hook(undo, "pre_run_cell", self._before_cell)
            self._hook(undo, "post_run_cell", self._after_cell)
            self._formatter(undo, Explanation)
            matchers = self.shell.Completer.custom_matchers
            matcher = completion.matcher(COMMANDS, lambda: (rule.name for rule in registry.rules()))
            matchers.append(matcher)
            undo.callback(_ignoring(ValueError, matchers.remove), matcher)
            if getattr(self.shell, "kernel", None) is not None:
                from zad_jupyter.notebook.panel import Panel

                self.panel = Panel(self.shell, self.source)
                self.panel.start()
                undo.callback(self.panel.stop)
            self._undo = undo.pop_all()  # nothing is left half done when one of these fails

    def stop(self) -> None:
        """Undo `start`. Rules stay: they are the person's, and not the extension's."""
        self._undo.close()

    # -- magics ------------------------------------------------------------------------------------------------------

    def _magics(self, undo: contextlib.ExitStack) -> None:
        @no_var_expand  # {x} is Python here, and not for IPython to expand
        def rrule(line: str, cell: str) -> None:
            __tracebackhide__ = True  # IPython leaves such a frame out of the traceback
            line = without_comment(line)
            if wants_help(line):
                print(RRULE_USAGE)
            else:
                display(self.rule_cell.run(line, cell))

        @no_var_expand
        def zad(line: str, cell: str | None = None) -> Any:
            __tracebackhide__ = True
            line = without_comment(line)
            return self.zad.line(line) if cell is None else self.zad.cell(line, cell)

        rrule.__doc__, zad.__doc__ = RRULE_USAGE, ZAD_USAGE
        self._magic(undo, "cell", "rrule", rrule)
        self._magic(undo, "line", "zad", zad)
        self._magic(undo, "cell", "zad", zad)

    def _magic(self, undo: contextlib.ExitStack, kind: str, name: str, function: Callable[..., Any]) -> None:
        """Register a magic; what had its name before, a magic of the person's own, comes back at the end."""
        table = self.shell.magics_manager.magics[kind]
        before = table.get(name, _MISSING)
        table[name] = function

        def restore() -> None:
            if table.get(name) is not function:
                return  # somebody else took the name meanwhile: theirs stays
            if before is _MISSING:
                del table[name]
            else:
                table[name] = before

        undo.callback(restore)

    def _formatter(self, undo: contextlib.ExitStack, shown: type) -> None:
        """Show objects of a class as their text, and not as their repr, where there is no HTML."""
        formatter = self.shell.display_formatter.formatters["text/plain"]
        formatter.for_type(shown, lambda thing, printer, cycle: printer.text(str(thing)))
        undo.callback(formatter.type_printers.pop, shown, None)

    # -- hooks -------------------------------------------------------------------------------------------------------

    def _hook(self, undo: contextlib.ExitStack, event: str, callback: Callable[..., Any]) -> None:
        self.shell.events.register(event, callback)
        undo.callback(_ignoring(ValueError, self.shell.events.unregister), event, callback)

    def _before_cell(self, info: Any) -> None:
        try:
            self.files.before_cell()
        finally:
            cell = self.cells.before(info)
        self.outputs.stop("ended: its cell was run again", self.cells.identity)
        self._executions[cell.filename] = Execution(places.owner_of_file(cell.filename))

    def _after_cell(self, result: Any) -> None:
        cell = self.cells.after(result)
        execution = self._executions.pop(cell.filename, None) if cell else None
        if execution is not None and result.success:
            for rule in execution.finish():
                print(f"zad: removed the rule {rule.name}, which this cell no longer defines")
        for said in [*self._announcements, *self.files.after_cell()]:
            print(f"zad: {said}")
        self._announcements.clear()
        self.source.changed()
        self.outputs.refresh()

    def _loaded(self) -> None:
        """Files were loaded while the kernel was idle."""
        self.source.changed()
        self.outputs.refresh()

    def _rules_changed(self, change: Any) -> None:
        if self.cells.current is None:  # a switch in the panel, say
            self.files.wake()
        # Told at the end of the cell: from here, the words could land in the output of another cell.
        if "written for an older" in change.reason or "detached" in change.reason:
            self._announcements.append(change.reason)


def _ignoring(error: type[Exception], function: Callable[..., Any]) -> Callable[..., None]:
    def quiet(*arguments: Any) -> None:
        with contextlib.suppress(error):
            function(*arguments)

    return quiet
