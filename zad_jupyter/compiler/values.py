"""What `infer` knows of a value while it reads a function: its atom, its type, whether derivatives flow through it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import types as T
from .expressions import InnerDefinition
from .intrinsics import UNBOUND
from .ir import Atom, Const, Function, Pos, Var
from .normal import inner_function

MAX_DEPTH = 40  # readings within readings


@dataclass(slots=True)
class Val:
    """One value.

    Attributes:
        atom: how generated code names it; None for a tuple that so far exists only as its `items`.
        type: what is promised of it.
        active: whether something that is differentiated flows into it.
        items: the values inside a tuple or a list that cannot change any more, if they are known one by one.
        what: a `Closure`, `Bound` or `Iterable` that this value stands for.
        maybe_unbound: whether the name that holds it may not be bound yet.
    """

    atom: Atom | None
    type: T.Type
    active: bool = False
    items: tuple[Val, ...] | None = None
    what: Any = None
    maybe_unbound: bool = False


@dataclass(eq=False)
class Activation:
    """One reading of a function's body: a call, or a call that is inlined."""

    function: Function
    globals: dict[str, Any]
    call_pos: Pos | None = None
    env: dict[Var, Val] = field(default_factory=dict)
    links: dict[Var, tuple[Activation, Var]] = field(default_factory=dict)
    journal: list[dict[Var, Val | None]] = field(default_factory=list)
    liveness: Any = None
    origin: Any = None  # the function object whose body this is, if there is one

    def get(self, var: Var) -> Val | None:
        link = self.links.get(var)
        return self.env.get(var) if link is None else link[0].get(link[1])

    def set(self, var: Var, value: Val) -> None:
        if self.journal and var not in self.journal[-1]:
            self.journal[-1][var] = self.env.get(var)
        self.env[var] = value

    def rollback(self) -> dict[Var, Val]:
        """Leave a branch: give what it bound, and put back what was bound before it."""
        changed = self.journal.pop()
        bound = {}
        for var, old in changed.items():
            bound[var] = self.env[var]
            if old is None:
                del self.env[var]
            else:
                self.env[var] = old
        return bound


@dataclass(eq=False)
class Closure:
    """An inner function together with the activation whose names it sees."""

    inner: InnerDefinition
    activation: Activation
    defaults: list[Val]
    keyword_defaults: dict[str, Val]


@dataclass(eq=False)
class Bound:
    """A method of an object: a function that gets `owner` as its first argument."""

    function: Any
    owner: Val


@dataclass(eq=False)
class Derived:
    """What `grad` or `value_and_grad` makes of a function, known to the compiler."""

    door: Any
    function: Val
    argnums: Any
    with_value: bool


@dataclass(eq=False)
class Pulled:
    """The pullback that `pullback(f, *args)` gives inside a function that is being read."""

    back: Val
    args: list[Val]


@dataclass(eq=False)
class Words:
    """A dict whose keys are known strings."""

    values: dict[str, Val]


@dataclass(eq=False)
class Iterable:
    """`zip`, `enumerate` or `reversed` over values that a loop can index."""

    kind: str
    parts: list[Val]
    strict: bool = False


def value_of(value: Val) -> Any:
    """What a constant holds."""
    assert isinstance(value.atom, Const)
    return value.atom.value


def atom_of(value: Val) -> Atom:
    """How generated code names a value that an operation has given."""
    assert value.atom is not None
    return value.atom


def var_of(value: Val) -> Var:
    """The same, for one that cannot be a constant."""
    assert isinstance(value.atom, Var)
    return value.atom


def const(value: Any) -> Val:
    return Val(Const(value), T.type_of(value))


def captured(closure: Closure) -> list[Val]:
    """What an inner function sees of the functions around it, as it is now."""
    outer, values = closure.inner.outer, []
    for name in inner_function(closure.inner).free:
        target = outer.locals.get(name) or outer.free[name]
        value = closure.activation.get(target)
        values.append(value or Val(Const(UNBOUND), T.NEVER, maybe_unbound=True))
    return values


def any_active(values: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether something differentiated reaches one of some values, also through what a function among them sees."""
    return any(_flows(value, seen) for value in values)


def _flows(value: Val, seen: frozenset[int]) -> bool:
    if value.active or (value.items is not None and any_active(value.items, seen)):
        return True
    what = value.what
    if what is None or id(what) in seen:
        return False
    seen = seen | {id(what)}
    if isinstance(what, Closure):
        return any_active([*captured(what), *what.defaults, *what.keyword_defaults.values()], seen)
    if isinstance(what, Derived):
        return any_active([what.function], seen)
    if isinstance(what, Bound):
        return any_active([what.owner], seen)
    if isinstance(what, Words):
        return any_active(what.values.values(), seen)
    if isinstance(what, Iterable):
        return any_active(what.parts, seen)
    return False


def same(a: Val, b: Val) -> bool:
    """Whether two branches leave the very same value, so that nothing has to be copied."""
    if a is b:
        return True
    if a.what is not None or b.what is not None:
        return a.what is b.what and a.atom is b.atom
    if isinstance(a.atom, Const) and isinstance(b.atom, Const):
        x, y = a.atom.value, b.atom.value
        return x is y or (type(x) is type(y) and isinstance(x, int | str | bool) and x == y)
    return a.atom is not None and a.atom is b.atom
