"""The small language between source and generated code: one operation per statement, structured control flow.

A user's function is brought into it, its derivative is written in it, and that derivative is read from it again when
somebody differentiates once more. Three properties carry everything else:

* every operation is a *call* of a Python callable (`operator.add`, `math.sin`, a user's function), so that there is
  one mechanism for rules and no list of node types to keep complete;
* a function has one exit: `break`, `continue` and early `return` have become flags and branches, so that code can be
  inlined and reversed by structure;
* loops remember through a `log`: `Push` appends a record, `Rewind` walks the records backwards, and each is the
  other's reverse, which is why the reverse of a loop can be reversed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Pos(NamedTuple):
    """Where the user wrote something; `caller` is the call through which inlined code got here."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    function: str
    caller: Pos | None = None


class Var:
    """A name in the small language, compared by identity.

    `type` and `active` are filled in by `infer`; `user` says that the name is the user's own, so that reading it
    before it is bound is the user's error and is told under that name.
    """

    __slots__ = ("active", "name", "type", "user")

    def __init__(self, name: str, type: Any = None, active: bool = False, user: bool = False) -> None:
        self.name = name
        self.type = type
        self.active = active
        self.user = user

    def __repr__(self) -> str:
        return f"{self.name}·{id(self) >> 4 & 0xFFF:x}"


class Const:
    """A value that is known when compiling."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"«{getattr(self.value, '__name__', self.value)!r}»"


Atom = Var | Const
Block = list["Stmt"]


@dataclass(eq=False, slots=True)
class Op:
    """`out = fn(*args, **kwargs)`.

    `derive` is set by `infer` on operations through which something differentiable flows: it knows how to write the
    reverse of this one operation. `pure` marks what may be dropped when nobody needs the result.
    """

    out: Var
    fn: Atom
    args: list[Atom]
    kwargs: dict[str, Atom]
    pos: Pos | None
    derive: Any = None
    pure: bool = False


@dataclass(eq=False, slots=True)
class Assign:
    """`target = value`: the only statement that may bind a name which is bound elsewhere too."""

    target: Var
    value: Atom
    pos: Pos | None = None


@dataclass(eq=False, slots=True)
class If:
    test: Atom
    then: Block
    orelse: Block
    pos: Pos | None = None


@dataclass(eq=False, slots=True)
class For:
    """`for target in iter: body`, left at the end of a round in which `stop` became true."""

    target: Var
    iter: Atom
    body: Block
    stop: Var | None = None
    pos: Pos | None = None


@dataclass(eq=False, slots=True)
class While:
    """Run `cond`, leave if `test` is false, run `body`, leave if `stop` became true, and so on."""

    cond: Block
    test: Atom
    body: Block
    stop: Var | None = None
    pos: Pos | None = None


@dataclass(eq=False, slots=True)
class Push:
    """Append one record to a log; a record of one value is that value."""

    log: Var
    values: list[Atom]


@dataclass(eq=False, slots=True)
class Pop:
    """Take the last record off a log and unpack it."""

    targets: list[Var]
    log: Var


@dataclass(eq=False, slots=True)
class Rewind:
    """For every record of a log, the last one first: unpack it, run the body. The log itself is left as it is."""

    targets: list[Var]
    log: Atom
    body: Block


@dataclass(eq=False, slots=True)
class Handler:
    kinds: Atom | None
    name: Var | None
    cond: Block
    body: Block


@dataclass(eq=False, slots=True)
class Try:
    body: Block
    handlers: list[Handler]
    orelse: Block
    final: Block
    pos: Pos | None = None


Stmt = Op | Assign | If | For | While | Push | Pop | Rewind | Try


@dataclass(eq=False)
class Function:
    """A whole function with one exit: run `body`, give `result`.

    `params` are the parameters in order, the starred ones last; `free` are the variables of enclosing functions that
    it reads, by name. `signature` binds calls; `defaults` holds the default values' atoms where they are known.
    `result_type` is known of compiled code; `liveness` is worked out when it is first needed.
    """

    name: str
    params: list[Var]
    body: Block
    result: Atom
    file: str = "<generated>"
    line: int = 0
    free: dict[str, Var] = field(default_factory=dict)
    code: Any = None
    signature: Any = None
    result_type: Any = None
    liveness: Any = None


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks that stand directly inside a statement, in the order in which they would run."""
    if isinstance(stmt, If):
        return (stmt.then, stmt.orelse)
    if isinstance(stmt, For | Rewind):
        return (stmt.body,)
    if isinstance(stmt, While):
        return (stmt.cond, stmt.body)
    if isinstance(stmt, Try):
        inner = [block for handler in stmt.handlers for block in (handler.cond, handler.body)]
        return (stmt.body, *inner, stmt.orelse, stmt.final)
    return ()


def uses(stmt: Stmt) -> Iterator[Atom]:
    """What a statement itself reads, its inner blocks left out."""
    if isinstance(stmt, Op):
        yield stmt.fn
        yield from stmt.args
        yield from stmt.kwargs.values()
    elif isinstance(stmt, Assign):
        yield stmt.value
    elif isinstance(stmt, If):
        yield stmt.test
    elif isinstance(stmt, For):
        yield stmt.iter
        if stmt.stop is not None:
            yield stmt.stop
    elif isinstance(stmt, While):
        yield stmt.test
        if stmt.stop is not None:
            yield stmt.stop
    elif isinstance(stmt, Push):
        yield stmt.log
        yield from stmt.values
    elif isinstance(stmt, Pop | Rewind):
        yield stmt.log
    elif isinstance(stmt, Try):
        for handler in stmt.handlers:
            if handler.kinds is not None:
                yield handler.kinds


def defines(stmt: Stmt) -> Iterator[Var]:
    """What a statement itself binds, its inner blocks left out."""
    if isinstance(stmt, Op):
        yield stmt.out
    elif isinstance(stmt, Assign | For):
        yield stmt.target
    elif isinstance(stmt, Pop | Rewind):
        yield from stmt.targets
    elif isinstance(stmt, Try):
        for handler in stmt.handlers:
            if handler.name is not None:
                yield handler.name


def walk(block: Block) -> Iterator[Stmt]:
    """Every statement of a block and of the blocks within, outer ones first."""
    for stmt in block:
        yield stmt
        for inner in blocks(stmt):
            yield from walk(inner)


def defined_in(block: Block) -> dict[Var, None]:
    """Every name that a block binds, in order of appearance."""
    return {var: None for stmt in walk(block) for var in defines(stmt)}


def used_in(block: Block) -> dict[Var, None]:
    """Every name that a block reads, in order of appearance."""
    return {atom: None for stmt in walk(block) for atom in uses(stmt) if isinstance(atom, Var)}


Emit = Callable[..., Atom]
