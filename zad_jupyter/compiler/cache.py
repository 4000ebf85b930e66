"""Compiled derivatives, and what each of them depends on.

An entry holds every question that was put to the registry for it, with the answer (also "no rule", also when the
compilation failed), and the guards of what its code refers to. When rules change, only entries that asked about a
changed function are asked again, and an entry is dropped only if an answer is different now. When a function is
redefined or a global changes its type, a guard finds it at the next call.
"""

from __future__ import annotations

import threading
import time
import types as pytypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..rules import registry
from ..rules.errors import UnsupportedError
from . import runtime
from . import types as T
from .calls import Call
from .emit import Emitter, Generated, Late, forget
from .guards import Guards
from .infer import Inference
from .ir import Const, Function, Op, Var, walk
from .live import Liveness
from .normal import inner_function, normal_form
from .resolve import MAX_CODE, MAX_INLINE
from .reverse import split
from .simplify import drop_dead
from .values import Activation, Closure, Val

MISS = object()
_ir: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
lock = threading.RLock()


@dataclass(eq=False)
class Entry:
    """One compiled derivative and what it depends on.

    Attributes:
        key: under which it is found.
        name: of the function differentiated.
        questions: what the registry was asked, with the answers.
        guards: what must still be so at every call.
        tree: the selection tree, as far as it is known without running.
        links: other entries whose code this one calls.
    """

    key: Any
    name: str
    questions: dict[Any, Any] = field(default_factory=dict)
    guards: Guards = field(default_factory=Guards)
    tree: Call | None = None
    links: set[Entry] = field(default_factory=set)
    run: Any = None
    code: list[Generated] = field(default_factory=list)
    alive: bool = True
    unknowns: int = 0
    seconds: float = 0.0
    code_key: int | None = None  # the id of the differentiated function's code
    keep: Any = None  # what must live as long as the key, which holds ids

    def everything(self) -> set[Entry]:
        """This entry and all those whose code it calls, directly or not."""
        found: set[Entry] = set()
        todo = [self]
        while todo:
            entry = todo.pop()
            if entry not in found:
                found.add(entry)
                todo += entry.links
        return found


@dataclass(eq=False)
class Pair(Entry):
    """A callee compiled on its own: forward and reverse."""

    forward: Any = None
    reverse: Any = None
    result_type: T.Type = T.NEVER
    saved_type: T.Type = T.UNKNOWN
    result_active: bool = True
    recursive: bool = False


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
    """One compilation: what it asks and what it relies on is written into its entry."""

    def __init__(self, entry: Entry, compiling: frozenset[Any] = frozenset(), traced: Pairs | None = None) -> None:
        self.entry = entry
        self.pairs = traced or pairs
        self.compiling = compiling
        self.tracing = traced is not None
        self.unknowns = 0
        self.size = 0
        self.generation = registry.snapshot()
        self.top: Top | None = None

    def is_top(self, f: Any) -> bool:
        return self.top is not None and f is self.top.function

    def select(self, f: Any, types: tuple[type, ...], keywords: tuple[tuple[str, type], ...]) -> Any:
        answer = self.generation.select(f, types, keywords)
        self.entry.questions[(Identity(f), types, keywords)] = answer
        return answer

    def has_one_rule_for_all(self, f: Any) -> bool:
        """Whether a rule for f accepts arguments of any class, and no other rule exists."""
        table = self.generation.table(f)
        self.entry.questions[(Identity(f), None, ())] = _summary(table)
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
        found = getattr(function, "_liveness", None)
        if found is None:
            found = function._liveness = Liveness(function)  # type: ignore[attr-defined]
        return found  # type: ignore[no-any-return]

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
        cells = [Val(Var("cell", T.type_of(c)), T.type_of(c)) for c in _cell_values(f)]
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
        return generated_ir(f)

    def generated_type(self, function: Function) -> T.Type:
        return generated_type(function)


def is_active(value: Val) -> bool:
    return value.active or (value.items is not None and any(is_active(item) for item in value.items))


def _is_ours(names: dict[str, Any]) -> bool:
    return str(names.get("__name__", "")).startswith(runtime.PACKAGE)


def _summary(table: Any) -> Any:
    return None if table is None else frozenset(id(rule) for rule in table.rules())


class Identity:
    """A function as part of a question: compared by identity, held weakly where that is possible."""

    __slots__ = ("_ref", "key")

    def __init__(self, f: Any) -> None:
        self.key = (id(f.__func__), id(f.__self__)) if isinstance(f, pytypes.MethodType) else id(f)
        try:
            self._ref: Callable[[], Any] = weakref.ref(f)
        except TypeError:
            self._ref = lambda: f

    def get(self) -> Any:
        return self._ref()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.key == other.key


# -- functions of the small language


def ir_of(f: Any, count: int) -> tuple[Function, dict[str, Any]]:
    """The small-language function of any callable, and the module of its names."""
    if f in _ir if isinstance(f, pytypes.FunctionType) else False:
        return _ir[f], {}
    if (
        isinstance(f, pytypes.FunctionType)
        and f.__code__.co_flags & 0x0C == 0
        and f.__code__.co_argcount == count
        and not f.__code__.co_kwonlyargcount
    ):
        return normal_form(f.__code__), f.__globals__
    params = [Var(f"x{i}") for i in range(count)]
    out = Var("y")
    if isinstance(f, runtime.Attribute):
        return Function(f.__name__, params, [Op(out, Const(getattr), [params[0], Const(f.name)], {}, None)], out), {}
    if isinstance(f, runtime.KeywordCall):
        cut = count - len(f.names)
        words = dict(zip(f.names, params[cut:], strict=True))
        return Function(f.__name__, params, [Op(out, Const(f.function), list(params[:cut]), words, None)], out), {}
    return Function(
        getattr(f, "__name__", type(f).__name__), params, [Op(out, Const(f), list(params), {}, None)], out
    ), {}


def _cell_values(f: Any) -> list[Any]:
    if not isinstance(f, pytypes.FunctionType) or not f.__closure__:
        return []
    return [cell.cell_contents for cell in f.__closure__]


def generated_ir(f: Any) -> Function | None:
    """The small-language text of a compiled function, if that is what f is."""
    try:
        return _ir.get(f)
    except TypeError:
        return None


_result_types: dict[int, T.Type] = {}


def generated_type(function: Function) -> T.Type:
    """The type of what a compiled function gives."""
    return _result_types.get(id(function), T.UNKNOWN)


def optimised(context: Context, function: Function, args: list[Val]) -> tuple[Function, Val]:
    """Read a derivative once more, with nothing active: fold, inline, drop."""
    inference = Inference(context, False, Call("inactive", function.name))
    done = inference.function(function, args, {})
    assert inference.result is not None
    roots = {done.result} if isinstance(done.result, Var) else set()
    done.body = drop_dead(done.body, roots)
    return done, inference.result


def inactive(params: list[Var]) -> list[Val]:
    return [Val(Var(p.name, p.type), p.type or T.UNKNOWN) for p in params]


# -- pairs


class Pairs:
    """Forward and reverse of callees, by function, types and which arguments are active."""

    def __init__(self, traced: bool = False) -> None:
        self.entries: dict[Any, Pair] = {}
        self.traced = traced  # of one traced gradient: every call is counted, and nothing is kept

    def get(
        self, f: Any, types: list[T.Type], active: list[bool], cells: int, compiling: frozenset[Any] = frozenset(),
        closure: Closure | None = None, site: Any = None,
    ) -> Pair:  # fmt: skip
        """The pair of a function for these types, compiled if it is not yet.

        Args:
            f: the function, or the definition of the inner function that `closure` is.
            types, active: of what a function closes over (the first `cells` of them) and of its arguments.
            cells: how many values f closes over.
            compiling: what is being compiled now, for recursion.
            closure: an inner function of code that is being read.
            site: the call, where each has to have a pair of its own, to count its calls.
        """
        function, names = (
            ir_of(f, len(types) - cells)
            if closure is None
            else (inner_function(closure.inner), closure.activation.globals)
        )
        own = f if closure is not None else function.code or f
        key = (id(own), tuple(T.key(t) for t in types), tuple(active), cells, site)
        found = self.entries.get(key)
        if found is not None and found.alive:
            if isinstance(found.forward, Late):
                found.recursive = True
                return found
            if usable(found):
                return found
        with lock:
            entry = Pair(key, getattr(f, "__name__", str(f)))
            entry.keep = (own, f if not isinstance(f, pytypes.FunctionType) else None)
            entry.forward, entry.reverse = Late(entry.name), Late(entry.name)
            self.entries[key] = entry
            try:
                self.compile(entry, f, function, names, types, active, cells, compiling | {own}, closure)
            except BaseException:
                self.entries.pop(key, None)
                raise
            if not self.traced:
                add_entry(entry)
        return entry

    def compile(
        self, entry: Pair, f: Any, function: Function, names: dict[str, Any], types: list[T.Type], active: list[bool], cells: int,
        compiling: frozenset[Any], closure: Closure | None,
    ) -> None:  # fmt: skip
        began = time.perf_counter()
        registry.count("compilations")
        params = [Var(n, t, a) for n, t, a in zip(_param_names(f, function, cells), types, active, strict=True)]
        for attempt in range(8):
            assumed = entry.result_type
            context = Context(entry, compiling, self if self.traced else None)
            inference = Inference(context, True, Call("recursed", entry.name))
            entry.tree = inference.node
            outside = [Val(p, p.type or T.UNKNOWN, p.active) for p in params[:cells]]
            free = (
                _inner_names(closure, function, outside)
                if closure
                else dict(zip(function.free.values(), outside, strict=False))
            )
            resolved = inference.function(
                function, [Val(p, p.type or T.UNKNOWN, p.active) for p in params[cells:]], names, free
            )
            resolved.params = params
            assert inference.result is not None
            entry.result_active = is_active(inference.result)
            found = inference.result.type
            if not entry.recursive:
                entry.result_type = found
                break
            found = T.limited(found)  # what the recursion gives is what its own code assumes of it
            if found == assumed or assumed is T.UNKNOWN:
                break
            entry.result_type = found if attempt < 6 else T.UNKNOWN
        entry.forward.result_type = entry.result_type
        forward, reverse = split(resolved, [p for p in params])
        context = Context(entry, compiling)
        done, value = optimised(context, forward, inactive(forward.params))
        _result_types[id(done)] = value.type
        saved_type = value.items[1].type if value.items is not None else T.UNKNOWN
        seed = (
            entry.result_type
            if T.is_scalar(entry.result_type) or isinstance(entry.result_type, T.ArrayType)
            else T.UNKNOWN
        )
        if seed in (T.INT, T.REAL, T.FLOATING):
            seed = T.FLOATING
        back, _ = optimised(
            context, reverse, [Val(Var("saved", saved_type), saved_type), Val(Var("seed_bar", seed), T.UNKNOWN)]
        )
        entry.saved_type = saved_type
        for late, ir, title in ((entry.forward, done, "forward"), (entry.reverse, back, "reverse")):
            made = Emitter(ir).compile(f"{title} {entry.name}")
            _ir[made.function] = ir
            entry.code.append(made)
            late.resolve(made.function)
        entry.forward, entry.reverse = entry.forward.target, entry.reverse.target
        entry.unknowns = context.unknowns
        entry.seconds = time.perf_counter() - began


def _inner_names(closure: Closure, function: Function, outside: list[Val]) -> dict[Var, Val]:
    """What the free names of an inner function mean inside its own pair; its own name means itself."""
    outer, shell = closure.inner.outer, Activation(function, closure.activation.globals)
    itself = Val(
        None,
        T.Exact(pytypes.FunctionType),
        False,
        None,
        Closure(closure.inner, shell, closure.defaults, closure.keyword_defaults),
    )
    values, found = iter(outside), {}
    for name, var in function.free.items():
        target = outer.locals.get(name) or outer.free[name]
        real = closure.activation.get(target)
        value = itself if real is not None and real.what is closure else next(values)
        shell.env[target] = found[var] = value
    return found


def _param_names(f: Any, function: Function, cells: int) -> list[str]:
    return [*list(function.free)[:cells], *[p.name for p in function.params]]


pairs = Pairs()


def lookup(site: runtime.Site, fn: Any, args: tuple[Any, ...]) -> tuple[Any, runtime.Back | None]:
    """Run one call forward, by the pair for the types that it turns out to have."""
    if fn is runtime.call_forward:
        return _forward_again(*args)
    if fn is runtime.call_back:
        return _back_again(*args)
    fn, args, active, method = unbound(site, fn, args)
    cells = [] if generated_ir(fn) is not None else _cell_values(fn)
    entry = entry_at(fn, cells, args, active, site.pairs, site)
    if entry is None:
        return fn(*args), None
    site.show(entry.tree)
    y, saved = entry.forward(*cells, *args)
    if not entry.result_active:
        return y, None
    return y, runtime.Back(entry.reverse, saved, entry.saved_type, len(cells), method)


def unbound(site: runtime.Site, fn: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], tuple[bool, ...], bool]:
    """A method as the function in its class, with the object as the first argument."""
    active, method = site.active[1:], False
    owner = getattr(fn, "__self__", None)
    if isinstance(fn, pytypes.MethodType):
        fn, method = fn.__func__, True
    elif (
        isinstance(fn, pytypes.BuiltinMethodType)
        and owner is not None
        and not isinstance(owner, pytypes.ModuleType | type)
    ):
        fn, method = getattr(type(owner), fn.__name__), True
    if method:
        args, active = (owner, *args), (site.active[0], *active)
    if site.keywords:
        fn = _with_keywords(fn, site.keywords)
    return fn, args, active, method


def entry_at(
    fn: Any, cells: list[Any], args: tuple[Any, ...], active: tuple[bool, ...], traced: Any = None, site: Any = None
) -> Pair | None:
    """The pair for a function and actual arguments; None if nothing differentiable goes in."""
    types = [T.type_of(value) for value in (*cells, *args)]
    wanted = (True,) * len(cells) + tuple(active)
    flags = [want and differentiable(type_) for want, type_ in zip(wanted, types, strict=True)]
    if not any(flags):
        return None
    return (
        pairs.get(fn, types, flags, len(cells))
        if traced is None
        else traced.get(fn, types, flags, len(cells), site=site)
    )


def _forward_again(site: runtime.Site, fn: Any, *args: Any) -> tuple[Any, runtime.Back | None]:
    """`call_forward` itself, differentiated: its compiled forward is run forward by a pair of its own."""
    (y, back), kept = lookup(site, fn, args), None
    if back is None:
        return (y, back), None
    fn, args, active, method = unbound(site, fn, args)
    cells = [] if generated_ir(fn) is not None else _cell_values(fn)
    entry = entry_at(fn, cells, args, active)
    assert entry is not None
    types = [T.type_of(value) for value in (*cells, *args)]
    flags = [differentiable(type_) for type_ in types]
    higher = pairs.get(entry.forward, types, flags, 0)
    (y, saved), kept = higher.forward(*cells, *args)
    lower = runtime.Back(entry.reverse, saved, entry.saved_type, len(cells), method)

    def reverse(kept: Any, bar: Any) -> tuple[Any, ...]:
        parts = lower.grouped(higher.reverse(kept, (bar[0], bar[1])))
        return (None, *parts)

    return (y, lower), runtime.Back(reverse, kept, None)


def _back_again(back: runtime.Back | None, ybar: Any) -> tuple[Any, runtime.Back | None]:
    """`call_back` itself, differentiated."""
    parts = runtime.call_back(back, ybar) if back is None or ybar is None else None
    if back is None or parts is not None:
        return parts, None
    if generated_ir(back.reverse) is None:
        raise UnsupportedError(
            "a derivative of this order through a call whose types are not known is not supported yet"
        )
    higher = pairs.get(back.reverse, [back.saved_type, T.type_of(ybar)], [True, differentiable(T.type_of(ybar))], 0)
    found, kept = higher.forward(back.saved, ybar)

    def reverse(kept: Any, bar: Any) -> tuple[Any, ...]:
        head, rest = bar[0], bar[1:]
        cells = list(head) if back.cells and head is not None else [None] * back.cells
        if back.method:
            cells = [head]
        return higher.reverse(kept, (*cells, *rest))  # type: ignore[no-any-return]

    return back.grouped(found), runtime.Back(reverse, kept, None)


_keyword_twins: dict[Any, Any] = {}


def _with_keywords(fn: Any, names: tuple[str, ...]) -> Any:
    """A function that takes some keywords of fn as its last positional arguments."""
    key = (Identity(fn), names)
    if key not in _keyword_twins:
        _keyword_twins[key] = runtime.KeywordCall(fn, names)
    return _keyword_twins[key]


def differentiable(type_: T.Type) -> bool:
    """Whether a value of this type can carry a derivative."""
    if isinstance(type_, T.ArrayType):
        return type_.dtype not in "?SUVMmO"
    if isinstance(type_, T.TupleType):
        return any(differentiable(item) for item in type_.items)
    if isinstance(type_, T.Exact):
        return not issubclass(
            type_.cls, bool | str | bytes | type(None) | range | slice | np.bool_ | pytypes.ModuleType | type
        )
    return True


runtime.lookup = lookup


# -- living with change

_entries: dict[Entry, None] = {}
_by_function: dict[Any, set[Entry]] = {}
_by_code: dict[int, set[Entry]] = {}
_dropped: list[Callable[[Entry], None]] = []


def add_entry(entry: Entry) -> None:
    """Remember an entry, and by which functions' rules it can be made wrong."""
    _entries[entry] = None
    for function, _, _ in entry.questions:
        _by_function.setdefault(function, set()).add(entry)
    if entry.code_key is not None:
        _by_code.setdefault(entry.code_key, set()).add(entry)


def on_drop(callback: Callable[[Entry], None]) -> None:
    _dropped.append(callback)


def usable(entry: Entry) -> bool:
    """Whether everything that an entry's code refers to is still what it was."""
    return entry.alive and all(part.alive and part.guards.hold() for part in entry.everything())


def usable_now(entry: Entry, f: Any) -> bool:
    """The same, for an entry of the function f itself."""
    return entry.alive and all(part.alive and part.guards.hold(f) for part in entry.everything())


def drop(entry: Entry) -> None:
    """Forget an entry and every one that calls its code."""
    todo = [entry]
    while todo:
        gone = todo.pop()
        if not gone.alive:
            continue
        gone.alive = False
        registry.count("drops")
        _entries.pop(gone, None)
        for function, _, _ in gone.questions:
            found = _by_function.get(function)
            if found is not None:
                found.discard(gone)
                if not found:
                    del _by_function[function]
        if gone.code_key is not None:
            _by_code.get(gone.code_key, set()).discard(gone)
        if isinstance(gone, Pair) and pairs.entries.get(gone.key) is gone:
            del pairs.entries[gone.key]
        for made in gone.code:
            forget(made.filename)
        for callback in _dropped:
            callback(gone)
        todo += [other for other in _entries if gone in other.links]


def still_true(entry: Entry) -> bool:
    """Ask an entry's questions again."""
    now = registry.snapshot()
    for (function, types, keywords), answer in entry.questions.items():
        f = function.get()
        if f is None:
            continue
        again = _summary(now.table(f)) if types is None else now.select(f, types, keywords)
        if again != answer:
            return False
    return True


def entries() -> list[Entry]:
    """Every compiled derivative that is alive."""
    return list(_entries)


def changed(functions: tuple[Any, ...]) -> list[Entry]:
    """The registry has changed what it says of some functions: drop exactly the entries that now would differ."""
    asked: dict[Entry, None] = {}
    for f in functions:
        for entry in _by_function.get(Identity(f), ()):
            asked[entry] = None
    before = set(_entries)
    for f in functions:  # entries made for another function of the same code never asked about this one
        for entry in list(_by_code.get(id(getattr(f, "__code__", None)), ())):
            if entry not in asked:
                drop(entry)
    for entry in asked:
        if entry.alive and not still_true(entry):
            drop(entry)
    return [entry for entry in before if not entry.alive]


registry.subscribe(lambda change: changed(change.functions) and None)
