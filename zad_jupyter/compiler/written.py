"""Operations as Python expressions, folded into one another as far as the order of evaluation allows.

An operation whose value is used once waits in `pending` for the statement that uses it; one that cannot wait any longer
gets a name and a line of its own.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import math
import operator
import re
from collections.abc import Iterable
from typing import Any, TypeVar

from . import intrinsics as I
from .generated import Late
from .ir import Atom, Const, Function, Op, Pos, Var, uses, walk
from .runtime import Globals

BINARY: dict[Any, type[ast.operator]] = {
    operator.add: ast.Add, operator.sub: ast.Sub, operator.mul: ast.Mult, operator.truediv: ast.Div,
    operator.pow: ast.Pow, operator.floordiv: ast.FloorDiv, operator.mod: ast.Mod, operator.matmul: ast.MatMult,
    operator.and_: ast.BitAnd, operator.or_: ast.BitOr, operator.xor: ast.BitXor, operator.lshift: ast.LShift,
    operator.rshift: ast.RShift,
}  # fmt: skip
COMPARE: dict[Any, type[ast.cmpop]] = {
    operator.lt: ast.Lt, operator.le: ast.LtE, operator.gt: ast.Gt, operator.ge: ast.GtE, operator.eq: ast.Eq,
    operator.ne: ast.NotEq, operator.is_: ast.Is, operator.is_not: ast.IsNot,
}  # fmt: skip
UNARY: dict[Any, type[ast.unaryop]] = {
    operator.neg: ast.USub, operator.pos: ast.UAdd, operator.not_: ast.Not, operator.invert: ast.Invert,
}  # fmt: skip
LITERALS = (int, float, str, bool, type(None), bytes, complex)
Node = TypeVar("Node", bound=ast.AST)


class Written:
    """One function as far as it is written: its lines, and the operations whose place in a line is still open."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.namespace: dict[str, Any] = {"__builtins__": builtins}
        self.names: dict[Var, str] = {}
        self.taken: set[str] = set()
        self.consts: dict[int, str] = {}
        self.positions: list[Pos | None] = [None]
        self.line = 1
        self.pending: list[tuple[Var, ast.expr, int]] = []
        self.body: list[ast.stmt] = []
        self.counts: dict[Var, int] = {}
        for stmt in walk(function.body):
            for atom in uses(stmt):
                if isinstance(atom, Var):
                    self.counts[atom] = self.counts.get(atom, 0) + 1
        if isinstance(function.result, Var):
            self.counts[function.result] = self.counts.get(function.result, 0) + 1

    # -- names and constants

    def fresh(self, name: str) -> str:
        base = re.sub(r"\W", "_", name).strip("_") or "t"
        if keyword.iskeyword(base) or base[0].isdigit() or hasattr(builtins, base):
            base += "_"
        chosen = base
        for number in itertools.count(2):
            if chosen not in self.taken:
                break
            chosen = f"{base}{number}" if not base[-1].isdigit() else f"{base}_{number}"
        self.taken.add(chosen)
        return chosen

    def name(self, var: Var) -> str:
        if var not in self.names:
            self.names[var] = self.fresh(var.name)
        return self.names[var]

    def constant(self, value: Any) -> str:
        """A name in the generated function's globals that stands for an object."""
        if id(value) not in self.consts:
            if isinstance(value, Globals):
                hint, stored = "names", value.names
            else:
                hint, stored = _hint(value), value
            chosen = self.fresh(hint)
            self.consts[id(value)] = chosen
            self.namespace[chosen] = stored
            self.namespace.setdefault("__keep__", []).append(value)
            if isinstance(value, Late):
                value.waiting.append((self.namespace, chosen))
                if value.target is not None:
                    self.namespace[chosen] = value.target
        return self.consts[id(value)]

    def at(self, node: Node, pos: int = 0) -> Node:
        placed: Any = node
        placed.lineno = placed.end_lineno = self.line
        placed.col_offset, placed.end_col_offset = pos, pos + 1
        return node

    def load(self, name: str) -> ast.expr:
        return self.at(ast.Name(name, ast.Load()))

    def literal(self, value: Any) -> ast.expr:
        if type(value) is tuple:
            return self.at(ast.Tuple([self.literal(item) for item in value], ast.Load()))
        if type(value) in LITERALS and not (isinstance(value, float) and not math.isfinite(value)):
            if type(value) in (int, float) and (value < 0 or str(value)[0] == "-"):
                return self.at(ast.UnaryOp(self.at(ast.USub()), self.at(ast.Constant(-value))))
            return self.at(ast.Constant(value))
        return self.load(self.constant(value))

    # -- expressions, folded as far as the order of evaluation allows

    def operands(self, atoms: Iterable[Atom]) -> list[ast.expr]:
        """The expressions of some atoms that are evaluated in this order."""
        found: list[ast.expr] = []
        wanted = list(atoms)
        positions = {var: i for i, (var, _, _) in enumerate(self.pending)}
        mine = [positions[a] for a in wanted if isinstance(a, Var) and a in positions]
        tail = len(self.pending) - len(mine)
        if mine != list(range(tail, len(self.pending))):  # not the last ones, in order: give them names
            keep = 0
            while mine and mine[-1] == len(self.pending) - 1 - keep and (len(mine) < 2 or mine[-1] > mine[-2]):
                mine.pop()
                keep += 1
            self.flush(keep)
        for atom in wanted:
            found.append(self.expr(atom))
        return found

    def expr(self, atom: Atom) -> ast.expr:
        if isinstance(atom, Const):
            return self.literal(atom.value)
        for index, (var, node, _) in enumerate(self.pending):
            if var is atom:
                self.size += self.pending[index][2]
                del self.pending[index]
                return node
        return self.load(self.name(atom))

    size = 0

    def flush(self, keep: int = 0) -> None:
        """Give names to folded expressions, all but the last few."""
        ready, kept = self.pending[: len(self.pending) - keep], self.pending[len(self.pending) - keep :]
        self.pending = []
        for var, node, _ in ready:
            self.statement(ast.Assign([self.at(ast.Name(self.name(var), ast.Store()))], node))
        for _, node, _ in kept:
            move(node, self.line)
        self.pending = kept

    def statement(self, node: Any) -> None:
        node.lineno = node.end_lineno = self.line
        node.col_offset, node.end_col_offset = 0, 1
        move(node, self.line)
        self.body.append(node)
        self.line += 1

    def place(self, pos: Pos | None) -> int:
        if pos is None:
            return 0
        if self.positions[-1] is not pos:
            self.positions.append(pos)
        return len(self.positions) - 1

    def operation(self, op: Op) -> ast.expr:
        fn = op.fn.value if isinstance(op.fn, Const) else None
        number = self.place(op.pos)
        args = op.args
        hashable = not isinstance(fn, list | dict | set)
        if hashable and fn is not None and not op.kwargs:
            special = self.syntax(fn, args, number)
            if special is not None:
                return special
        head, *rest = self.operands([op.fn, *args, *op.kwargs.values()])
        words = [
            self.at(ast.keyword(name, node), number) for name, node in zip(op.kwargs, rest[len(args) :], strict=True)
        ]
        return self.at(ast.Call(head, rest[: len(args)], words), number)

    def syntax(self, fn: Any, args: list[Atom], number: int) -> ast.expr | None:
        """Operations that Python has syntax for."""
        try:
            hash(fn)
        except TypeError:
            return None
        node: Any = None
        if fn in BINARY and len(args) == 2:
            left, right = self.operands(args)
            node = ast.BinOp(left, BINARY[fn](), right)
        elif fn in COMPARE and len(args) == 2:
            left, right = self.operands(args)
            node = ast.Compare(left, [COMPARE[fn]()], [right])
        elif fn in UNARY and len(args) == 1:
            node = ast.UnaryOp(UNARY[fn](), self.operands(args)[0])
        elif fn is operator.getitem:
            whole, index = args
            if isinstance(index, Const) and isinstance(index.value, slice):
                node = ast.Subscript(self.operands([whole])[0], self.slice(index.value), ast.Load())
            else:
                left, right = self.operands(args)
                node = ast.Subscript(left, right, ast.Load())
        elif fn is getattr and len(args) == 2 and isinstance(args[1], Const) and str(args[1].value).isidentifier():
            node = ast.Attribute(self.operands(args[:1])[0], args[1].value, ast.Load())
        elif fn is I.build_tuple:
            node = ast.Tuple(self.operands(args), ast.Load())
        elif fn in (I.build_list, I.new_log, I.new_list):
            node = ast.List(self.operands(args), ast.Load())
        elif fn is I.build_dict:
            parts = self.operands(args)
            node = ast.Dict([*parts[::2]], parts[1::2])
        return None if node is None else self.at(node, number)

    def slice(self, value: slice) -> ast.expr:
        parts = [None if part is None else self.literal(part) for part in (value.start, value.stop, value.step)]
        return self.at(ast.Slice(*parts))


def move(node: ast.AST, line: int) -> None:
    """Put a whole expression on another line."""
    child: Any  # those that have a place
    for child in ast.walk(node):
        if hasattr(child, "lineno"):
            child.lineno = child.end_lineno = line


def _hint(value: Any) -> str:
    name = getattr(value, "__name__", None)
    if name is None:
        return type(value).__name__.lower()
    module = (getattr(value, "__module__", None) or "").split(".")[0]
    return {"math": f"math_{name}", "numpy": f"np_{name}"}.get(
        module, f"np_{name}" if type(value).__name__ == "ufunc" else name
    )
