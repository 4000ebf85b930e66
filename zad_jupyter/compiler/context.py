"""One compilation: what it asks of the registry and what it relies on, written into its entry as it goes."""

from __future__ import annotations

import types as pytypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import generated, running, runtime
from . import types as T
from .cache import Entry, Identity, Pair, summary
from .ir import Function, Var, walk
from .live import Liveness
from .values import Closure, Val

if TYPE_CHECKING:
    from .pairs import Pairs

MAX_INLINE = 120  # statements of a callee that is written in place of its call
MAX_CODE = 4000  # statements of one compiled function, after inlining


@dataclass(eq=False)
class Top:
    """The function that is differentiated: generated code gets it as an argument, since each run may bring another
    closure made by the same line. `depth` is how many derivatives stand around it."""

    function: Any
    param: Var
    depth: int

    @property
    def path(self) -> str:
        """How generated code reaches it."""
        return "f" + ".f" * self.depth


class Context:
    """What is being compiled, and into what.

    Args:
        entry: gets the questions, the guards and the links.
        pairs: where callees' own compiled pairs are found.
        compiling: what is being compiled now, for recursion.
        tracing: whether every call is counted when the code runs.
    """

    def __init__(
        self, entry: Entry, pairs: Pairs, compiling: frozenset[Any] = frozenset(), tracing: bool = False
    ) -> None:
        self.entry = entry
        self.pairs = pairs
        self.compiling = compiling
        self.tracing = tracing
        self.unknowns = 0
        self.size = 0
        self.generation = running.generation()
        self.top: Top | None = None
        self.order = 0  # how many derivatives stand around what is being read, the outermost not counted
        self.exceptions_carry = False  # whether an exception may hold something differentiated

    def is_top(self, f: Any) -> bool:
        return self.top is not None and f is self.top.function

    def select(self, f: Any, types: tuple[type, ...], keywords: tuple[tuple[str, type], ...]) -> Any:
        answer = self.generation.select(f, types, keywords)
        self.entry.questions[(Identity(f), types, keywords)] = answer
        return answer

    def has_one_rule_for_all(self, f: Any) -> bool:
        """Whether a rule for f accepts arguments of any class, and no other rule exists."""
        table = self.generation.table(f)
        self.entry.questions[(Identity(f), None, ())] = summary(table)
        if table is None:
            return False
        rules = [*table.layer("user"), *table.layer("shipped")]
        return len(rules) == 1 and all(
            object in getattr(p, "members", ()) or p.members == (object,) for p in rules[0].parameters.parameters
        )

    def count(self) -> None:
        self.size += 1

    def too_large(self, function: Function) -> bool:
        return self.size > MAX_CODE or (self.size > MAX_INLINE and sum(1 for _ in walk(function.body)) > MAX_INLINE)

    def liveness(self, function: Function) -> Liveness:
        if function.liveness is None:
            function.liveness = Liveness(function)
        found: Liveness = function.liveness
        return found

    # guards, passed on to the entry

    def guard_function(self, f: pytypes.FunctionType) -> None:
        if self.is_top(f):
            assert self.top is not None
            if f.__defaults__ is not None:
                self.entry.guards.own(f"{self.top.path}.__defaults__", f.__defaults__)
            if f.__kwdefaults__:
                self.entry.guards.own(f"{self.top.path}.__kwdefaults__", f.__kwdefaults__)
        elif not runtime.is_ours(f):
            self.entry.guards.function(f)

    def guard_defaults(self, f: pytypes.FunctionType) -> None:
        """A call of f does not fit it; that may be mended."""
        if self.is_top(f):
            assert self.top is not None
            self.entry.guards.own(f"{self.top.path}.__defaults__", f.__defaults__)
        else:
            self.entry.guards.add(("defaults", id(f)), "{0}.__defaults__ is {1}", f, f.__defaults__)

    def guard_global(self, names: dict[str, Any], name: str, value: Any) -> None:
        if not _is_ours(names):
            self.entry.guards.item(names, name, value)

    def guard_global_type(self, names: dict[str, Any], name: str, value: Any) -> None:
        self.entry.guards.item_type(names, name, value)

    def guard_absent(self, names: dict[str, Any], name: str) -> None:
        if not _is_ours(names):
            self.entry.guards.absent(names, name)

    def guard_cell(self, cell: Any, value: Any) -> None:
        self.entry.guards.cell(cell, value)

    def guard_cell_type(self, cell: Any, value: Any) -> None:
        self.entry.guards.cell_type(cell, value)

    def guard_attribute(self, cls: type, name: str, value: Any) -> None:
        if cls.__module__.split(".")[0] not in ("builtins", "numpy", "math", "functools", "collections"):
            self.entry.guards.attribute(cls, name, value)

    def pair(self, f: Any, args: list[Val]) -> Pair | None:
        """The compiled pair of a callee, for arguments of these types."""
        cells = [Val(Var("cell", T.type_of(c)), T.type_of(c)) for c in cell_values(f)]
        if cells:
            return None
        found = self.pairs.get(f, [a.type for a in args], [is_active(a) for a in args], 0, self.compiling)
        self.entry.links.add(found)
        return found

    def pair_closure(self, closure: Closure, function: Function, captured: list[Val], args: list[Val]) -> Pair:
        """The compiled pair of an inner function, which takes what it closes over before its arguments."""
        values = [*captured, *args]
        found = self.pairs.get(
            closure.inner,
            [v.type for v in values],
            [is_active(v) for v in values],
            len(captured),
            self.compiling,
            closure,
        )
        self.entry.links.add(found)
        return found

    def generated(self, f: Any) -> Function | None:
        return generated.form_of(f)

    def generated_type(self, function: Function) -> T.Type:
        return generated.result_type(function)


def is_active(value: Val) -> bool:
    return value.active or (value.items is not None and any(is_active(item) for item in value.items))


def cell_values(f: Any) -> list[Any]:
    if not isinstance(f, pytypes.FunctionType) or not f.__closure__:
        return []
    return [cell.cell_contents for cell in f.__closure__]


def _is_ours(names: dict[str, Any]) -> bool:
    return str(names.get("__name__", "")).startswith(runtime.PACKAGE)
