"""What becomes of one call: folded, inlined, given its rule, left to run time, or refused."""

from __future__ import annotations

import functools
import operator
import types as pytypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rules import display_name
from ..rules.errors import UnsupportedError
from ..rules.places import Place
from . import closures, derive, handlers, runtime
from . import intrinsics as I
from . import types as T
from .calls import Call, place_parts
from .cotangent_types import cotangent_type
from .fold import exactly, fold, product
from .generated import Late
from .guards import static_attribute
from .ir import Atom, Block, Const, Function, Op, Pos, Var
from .known import compiled, names
from .mutation import changes, may_change_arguments
from .normal import normal_form
from .pure import never_raises, question_of
from .select import ask, bind, is_numeric_list, takes_arrays
from .values import MAX_DEPTH, Activation, Bound, Closure, Derived, Pulled, Val, Words, any_active, atom_of, const

if TYPE_CHECKING:
    from .context import Context



class Resolve(ABC):
    """State of one reading, and the resolution of calls. Statements are read by `Inference`."""

    def __init__(self, context: Context, select: bool, node: Call, dry: bool = False) -> None:
        self.context = context
        self.select = select  # choose rules (else: only optimise)
        self.dry = dry  # look for types only; nothing that is written will run
        self.node = node
        self.out: Block = []
        self.activations: list[Activation] = []
        self.known: list[dict[Any, Any]] = [{}]
        self.tests: dict[Var, Var] = {}
        self.loops = 0  # around what is being read
        self.slots: list[tuple[Activation, dict[Var, Var]]] = []
        self.dead = False
        self.here: Pos | None = None
        self.result: Val | None = None

    @property
    def act(self) -> Activation:
        return self.activations[-1]

    # -- statements: see `Inference`

    @abstractmethod
    def body(self, act: Activation) -> Val:
        """Read a function's body in an activation; gives its result."""

    @abstractmethod
    def arm(self) -> AbstractContextManager[Block]:
        """A block that may not run: what it computes is not known outside of it."""

    @abstractmethod
    def merge(self, name: str, a: Val | None, b: Val | None, first: Block, second: Block) -> Val:
        """The value of a name after two branches that meet, with a copy at the end of each where they differ."""

    # -- values and operations

    def atom(self, value: Val) -> Atom:
        """The atom of a value, written out if it has existed only in parts so far."""
        if value.atom is not None:
            return value.atom
        what = value.what
        if isinstance(what, Closure):
            return closures.materialise(self, what)
        if isinstance(what, Words):
            if any_active(what.values.values()):
                raise self.unsupported("a dict that holds differentiated values", None)
            parts = [part for name, item in what.values.items() for part in (const(name), item)]
            return atom_of(self.emit(I.build_dict, parts, {}, T.Exact(dict), False, self.here))
        if isinstance(what, Derived):
            return atom_of(self.emit(what.door, [what.function, const(what.argnums)], {}, T.UNKNOWN, False, self.here))
        if isinstance(what, Bound):
            return atom_of(compiled.bound_method(self, [const(what.function), what.owner], {}, self.here))
        if value.items is None:
            raise self.unsupported("`zip`, `enumerate` or `reversed` other than in a `for` loop", None)
        return atom_of(self.build(value.items))

    def last_op(self) -> Op:
        op = self.out[-1]
        assert isinstance(op, Op)
        return op

    def build(self, items: tuple[Val, ...], kind: Callable[..., Any] = I.build_tuple, pos: Pos | None = None) -> Val:
        """A tuple, or a list that nobody changes, whose parts stay known one by one."""
        atoms = [self.atom(item) for item in items]
        active = any_active(items)
        types = tuple(item.type for item in items)
        joined: T.Type = T.NEVER
        for type_ in types:
            joined = T.join(joined, type_)
        type_ = T.TupleType(types) if kind is I.build_tuple else T.ListType(joined)
        out = Var("t", type_, active)
        op = Op(out, Const(kind), atoms, {}, pos or self.here, pure=True)
        if active:
            op.derive = derive.Parts(list(atoms))
        self.out.append(op)
        return Val(out, type_, active, items)

    def emit(
        self, fn: Any, args: list[Val], kwargs: dict[str, Val], type_: T.Type, active: bool, pos: Pos | None,
        pure: bool = False, name: str = "t",
    ) -> Val:  # fmt: skip
        """Write one operation."""
        out = Var(name, type_, active)
        head = fn if isinstance(fn, Var | Const) else Const(fn)
        atoms = [self.atom(arg) for arg in args]
        words = {word: self.atom(arg) for word, arg in kwargs.items()}
        self.out.append(Op(out, head, atoms, words, pos, pure=pure))
        self.context.count()
        return Val(out, type_, active)

    def with_items(self, value: Val, pos: Pos | None) -> Val:
        """A tuple value with its items known one by one, if the type says how many there are."""
        if value.items is None and isinstance(value.type, T.TupleType) and value.what is None:
            items = []
            for index, type_ in enumerate(value.type.items):
                if value.active and isinstance(type_, T.LogType):
                    type_ = type_.activated()
                item = self.emit(operator.getitem, [value, const(index)], {}, type_, value.active, pos, pure=True)
                if value.active:
                    self.last_op().derive = derive.TupleItem(self.atom(value), index, len(value.type.items))
                items.append(self.with_items(item, pos))
            return Val(value.atom, value.type, value.active, tuple(items))
        return value

    def dict_of(self, values: dict[str, Val], pos: Pos | None) -> Val:
        """What a `**kwargs` parameter gets."""
        return Val(None, T.Exact(dict), False, None, Words(values))

    def truth(self, test: Val) -> bool | None:
        if isinstance(test.atom, Const) and isinstance(test.atom.value, bool | int | str | type(None)):
            return bool(test.atom.value)
        return None

    def unsupported(self, construct: str, pos: Pos | None = None) -> UnsupportedError:
        pos = pos or self.here
        place = f" at {Place(pos.file, pos.line)}" if pos else ""
        name = pos.function if pos else self.act.function.name
        return UnsupportedError(
            f"{name} cannot be differentiated: {construct}{place} is not supported yet. "
            f"Write a rule for the function, or write this line another way."
        )

    def fail(self, error: BaseException, pos: Pos | None) -> Val:
        """The user's code gets an error that was found when compiling only if it really comes to this call."""
        self.emit(I.fail, [Val(Const(error), T.UNKNOWN)], {}, T.NEVER, False, pos)
        self.dead = True
        return Val(Const(I.UNBOUND), T.NEVER)

    # -- calls

    def call(self, fn: Val, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        if isinstance(fn.what, Closure):
            return closures.call(self, fn.what, args, kwargs, pos)
        if isinstance(fn.what, Pulled) and len(args) == 1:
            return handlers.pulled_call(self, fn.what, args, pos)
        if isinstance(fn.what, Derived):
            value = handlers.derivative_call(self, fn.what, args, kwargs, pos)
            if value is not None:
                return value
        if isinstance(fn.what, Bound):
            return self.call(const(fn.what.function), [fn.what.owner, *args], kwargs, pos)
        if not isinstance(fn.atom, Const):
            return self.call_value(fn, args, kwargs, pos)
        f = fn.atom.value
        if isinstance(f, pytypes.MethodType):
            return self.call(const(f.__func__), [const(f.__self__), *args], kwargs, pos)
        if type(f) is functools.partial:
            words = {name: const(value) for name, value in f.keywords.items()}
            return self.call(const(f.func), [*map(const, f.args), *args], {**words, **kwargs}, pos)
        if isinstance(f, Late):
            if f.target is None and f.result_type is not None and not self.select:
                return self.emit(f, args, kwargs, T.TupleType((f.result_type, T.UNKNOWN)), False, pos)
            f = f.target or f
        if f is operator.getitem and isinstance(args[0].atom, Const) and args[0].atom.value is I.UNBOUND:
            return args[0]  # a part of what a compiled callee does not keep any more: nobody needs it
        if f is not I.build_tuple and any(arg.type is T.NEVER and not arg.maybe_unbound for arg in args):
            return self.emit(f, args, kwargs, T.NEVER, True, pos)
        handler = handlers.find(f)
        if handler is not None:
            value = handler(self, args, kwargs, pos)
            if value is not None:
                return value
        folded = fold(f, args, kwargs)
        if folded is not None:
            return folded
        if handlers.is_derivative(f):
            value = handlers.derivative_call(self, f, args, kwargs, pos)
            return value if value is not None else self.emit(f, args, kwargs, T.UNKNOWN, False, pos)
        function = self.context.generated(f)
        if function is not None:
            return self.call_generated(f, function, args, pos)
        changed = changes(f, args, kwargs)
        if changed and self.select:
            raise self.unsupported(changed, pos)
        if not any_active(args) and not any_active(kwargs.values()):
            return self.call_inactive(f, args, kwargs, pos)
        return self.choose(f, args, kwargs, pos)

    def call_generated(self, f: Any, function: Function, args: list[Val], pos: Pos | None) -> Val:
        """Compiled code, met again at a higher order: its small-language text is read like any other function's."""
        if not any_active(args):
            return self.emit(f, args, {}, self.context.generated_type(function), False, pos)
        if (
            any(act.function is function for act in self.activations)
            or f in self.context.compiling
            or self.context.too_large(function)
        ):
            return derive.link(self, f, args, {}, pos)
        act = Activation(function, {}, pos)
        act.env.update(zip(function.params, [self.with_items(arg, pos) for arg in args], strict=True))
        return self.body(act)

    def call_value(self, fn: Val, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        """A call of something that is not known by name: an object, or a function that arrives as an argument."""
        cls = T.class_of(fn.type)
        if cls is not None and not issubclass(
            cls, pytypes.FunctionType | pytypes.MethodType | pytypes.BuiltinFunctionType | type
        ):
            method = getattr(cls, "__call__", None)  # noqa: B004 - the method itself is wanted
            self.context.guard_attribute(cls, "__call__", static_attribute(cls, "__call__"))
            if isinstance(method, pytypes.FunctionType):
                return self.call(const(method), [fn, *args], kwargs, pos)
        if not (fn.active or any_active(args) or any_active(kwargs.values())):
            return self.emit(self.atom(fn), args, kwargs, T.UNKNOWN, False, pos)
        return self.at_run_time(fn, args, kwargs, pos)

    def call_inactive(self, f: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        """Nothing differentiable flows in: the call is simply made."""
        formula = isinstance(f, pytypes.FunctionType) and (
            runtime.is_rule_code(f) or (self.dry and runtime.is_readable(f))
        )
        if formula and not any(act.function.code is f.__code__ for act in self.activations):
            try:
                return self.inline(normal_form(f.__code__), f, args, kwargs, pos)
            except UnsupportedError:
                pass  # then it is called as it is
        if (
            self.select
            and isinstance(f, pytypes.FunctionType)
            and runtime.is_readable(f)
            and may_change_arguments(f, args)
        ):
            raise self.unsupported(f"a call of {f.__name__}, which may change an argument in place,", pos)
        factor = None if self.select else product(f, args)
        if factor is not None:
            factor, args = self.one_factor(factor, args)
        pure = T.is_pure(f)
        question = question_of(f, args, kwargs) if pure else None
        known: Val | None = self.answer(question)
        if known is not None:
            return known
        type_ = self.result_type(f, args, kwargs)
        value = self.emit(f, args, kwargs, type_, False, pos, pure=pure and never_raises(f, args, type_))
        if question is not None and (type_ in T.SCALARS or type_ == T.BOOL):
            self.known[-1][question] = value
        if factor is not None:
            self.known[-1][product, value.atom] = factor
        if self.select and not runtime.is_ours(f):
            self.record("inactive", f, args, pos, None)
        return value

    def one_factor(self, factor: tuple[float, Val], args: list[Val]) -> tuple[tuple[float, Val], list[Val]]:
        """`4.0 * t`, where `t = 3 * x` was written before, as `12.0 * x`."""
        number, value = factor
        before = self.answer((product, value.atom))
        both = None if before is None else exactly(number, before[0])
        if both is None:
            return factor, args
        return (both, before[1]), [const(both), before[1]]

    def answer(self, question: Any) -> Any:
        """What is known of an operation that has been written already, where this place can see it; or None."""
        for scope in reversed(self.known):
            if question in scope:
                return scope[question]
        return None

    def result_type(self, f: Any, args: list[Val], kwargs: dict[str, Val]) -> T.Type:
        def part(value: Val) -> tuple[T.Type, Any]:
            return (shape(value), (value.atom.value,) if isinstance(value.atom, Const) else ())

        def shape(value: Val) -> T.Type:
            if value.items is None or f is operator.getitem:
                return value.type
            kind = T.TupleType if isinstance(value.type, T.TupleType) else T.ListItems
            return kind(tuple(shape(item) for item in value.items))

        if runtime.is_ours(f) and not runtime.is_readable(f):
            return cotangent_type(f, [arg.type for arg in args])
        if T.is_pure(f):
            return T.result_type(f, [part(a) for a in args], {name: part(a) for name, a in kwargs.items()})
        if isinstance(f, pytypes.FunctionType) and not self.dry and runtime.is_readable(f):
            return self.dry_type(f, args, kwargs).type
        return T.UNKNOWN

    def dry_type(self, f: pytypes.FunctionType, args: list[Val], kwargs: dict[str, Val]) -> Val:
        """What a Python function gives for arguments of these types, found by reading it and throwing away the code."""
        plain = [self.stripped(arg) for arg in args]
        words = {name: self.stripped(arg) for name, arg in kwargs.items()}
        trial = type(self)(self.context, False, Call("inactive", f.__name__), dry=True)
        trial.activations = [Activation(Function("dry", [], [], Const(None)), {})]
        try:
            return trial.inline(normal_form(f.__code__), f, plain, words, None)
        except Exception:  # not knowing a type is no error
            return Val(Const(None), T.UNKNOWN)

    def stripped(self, value: Val) -> Val:
        items = None if value.items is None else tuple(self.stripped(item) for item in value.items)
        atom = value.atom if isinstance(value.atom, Const) or value.items is not None else Var("x", value.type)
        return Val(atom, value.type, False, items, value.what)

    def choose(self, f: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        """Ask the registry, and do what it says."""
        answer = ask(self.context, f, args, kwargs)
        if answer is None:
            return self.at_run_time(const(f), args, kwargs, pos)
        if answer.outcome == "ambiguous":
            self.record("error", f, args, pos, None, note="ambiguous")
            return self.fail(answer.error(), pos)
        if takes_arrays(f) and (
            answer.outcome == "none" or (answer.rule.kind == "rrule" and answer.rule.layer == "shipped")
        ):
            lists = [is_numeric_list(a) and any_active([a]) for a in args]
            if any(lists):  # NumPy's functions make arrays of lists first
                return self.call(const(f), [self.call(const(np.array), [a], {}, pos) if is_list else a for a, is_list in
                                            zip(args, lists, strict=True)], kwargs, pos)  # fmt: skip
        if answer.outcome == "none" or answer.outcome == "opted-out":
            # `answer.args`: a reflected method gets the operands in its own order
            return self.look_inside(answer.function, answer, answer.args, kwargs, pos)
        self.record("inactive" if answer.rule.kind == "non_differentiable" else "hit", f, args, pos, answer.rule)
        return derive.apply_rule(self, f, answer, args, kwargs, pos)

    def look_inside(self, f: Any, answer: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        """No rule, or a rule that says "not for these types": f's own body is differentiated."""
        outcome = "opted-out" if answer.outcome == "opted-out" else "recursed"
        if isinstance(f, pytypes.MethodType):
            f, args = f.__func__, [const(f.__self__), *args]
        if isinstance(f, type) and issubclass(f, BaseException):
            # Its text is for people. Whoever catches it may look at what it carries, so that counts as active.
            self.context.exceptions_carry = True
            return self.emit(f, args, kwargs, T.Exact(f), False, pos)
        if not isinstance(f, pytypes.FunctionType):
            error = answer.error()
            self.record("error", f, args, pos, answer.rule, note="no rule")
            self.emit(f, args, kwargs, T.UNKNOWN, False, pos)  # if the call itself raises, that is the user's error
            return self.fail(error, pos)
        node = self.record(outcome, f, args, pos, answer.rule)
        try:
            function = normal_form(f.__code__)
        except UnsupportedError as error:
            node.outcome, node.note = "error", str(error)
            return self.fail(error, pos)
        return self.into(node, lambda: self.enter(function, f, args, kwargs, pos))

    def into(self, node: Call, read: Callable[[], Val]) -> Val:
        outer, self.node = self.node, node
        try:
            return read()
        finally:
            self.node = outer

    def enter(
        self, function: Function, f: pytypes.FunctionType, args: list[Val], kwargs: dict[str, Val], pos: Pos | None
    ) -> Val:
        """A Python function's body: in place of the call where that is possible, else compiled on its own."""
        if f.__closure__:  # another closure made by the same line is another function
            recursive = any(act.origin is f for act in self.activations)
        else:
            recursive = any(act.function.code is f.__code__ for act in self.activations)
            recursive = recursive or f.__code__ in self.context.compiling
        if recursive or len(self.activations) > MAX_DEPTH or self.context.too_large(function):
            return derive.link(self, f, args, kwargs, pos)
        return self.inline(function, f, args, kwargs, pos)

    def inline(
        self, function: Function, f: pytypes.FunctionType, args: list[Val], kwargs: dict[str, Val], pos: Pos | None
    ) -> Val:
        """Read a callee's body here and now."""
        self.context.guard_function(f)
        defaults = [const(value) for value in f.__defaults__ or ()]
        words = {name: const(value) for name, value in (f.__kwdefaults__ or {}).items()}
        act = Activation(function, f.__globals__, pos, origin=f)
        try:
            act.env.update(bind(self, function, args, kwargs, defaults, words, pos))
        except TypeError as error:
            self.context.guard_defaults(f)
            return self.fail(error, pos)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            act.env[function.free[name]] = names.read_cell(self, f, name, cell, pos)
        return self.body(act)

    # -- left to run time

    def at_run_time(self, fn: Val, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
        """The types are not known here: a call site that chooses when it runs."""
        self.context.unknowns += 1
        return derive.at_run_time(self, fn, args, kwargs, pos)

    def record(self, outcome: str, f: Any, args: list[Val], pos: Pos | None, rule: Any, note: str = "") -> Call:
        """Write a call into the selection tree."""
        call = Call(
            outcome, display_name(f), tuple(T.name_of(a.type) for a in args), rule, *place_parts(pos), note=note
        )
        if self.select and not runtime.is_ours(f):
            self.node.children.append(call)
            if self.context.tracing:
                self.emit(runtime.tick, [Val(Const(call), T.UNKNOWN)], {}, T.NONE, False, pos)
        return call
