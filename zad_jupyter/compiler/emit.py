"""From the small language to a plain Python function: the last step.

Code is built as a syntax tree, one statement a line, so that its text (`ast.unparse`, made only when somebody looks)
has the same lines. The column of every node is the number of the operation it came from: an exception's instruction
leads through it to the position in the user's own source.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import linecache
import math
import operator
import re
import types as pytypes
from collections.abc import Iterable, Sequence
from typing import Any

from . import intrinsics as I
from .assigned import Assigned
from .ir import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Function,
    If,
    Op,
    Pop,
    Pos,
    Push,
    Rewind,
    Stmt,
    Try,
    Var,
    While,
    uses,
    walk,
)
from .runtime import Globals

BINARY: dict[Any, type[ast.operator]] = {
    operator.add: ast.Add, operator.sub: ast.Sub, operator.mul: ast.Mult, operator.truediv: ast.Div, operator.pow: ast.Pow,
    operator.floordiv: ast.FloorDiv, operator.mod: ast.Mod, operator.matmul: ast.MatMult, operator.and_: ast.BitAnd,
    operator.or_: ast.BitOr, operator.xor: ast.BitXor, operator.lshift: ast.LShift, operator.rshift: ast.RShift,
}  # fmt: skip
COMPARE: dict[Any, type[ast.cmpop]] = {
    operator.lt: ast.Lt, operator.le: ast.LtE, operator.gt: ast.Gt, operator.ge: ast.GtE, operator.eq: ast.Eq,
    operator.ne: ast.NotEq, operator.is_: ast.Is, operator.is_not: ast.IsNot,
}  # fmt: skip
UNARY: dict[Any, type[ast.unaryop]] = {
    operator.neg: ast.USub, operator.pos: ast.UAdd, operator.not_: ast.Not, operator.invert: ast.Invert,
}  # fmt: skip
LITERALS = (int, float, str, bool, type(None), bytes, complex)
MAX_FOLDED = 12  # operations in one generated expression: more is no longer read at a glance
_numbers = itertools.count(1)
_generated: dict[str, Generated] = {}


class Late:
    """A function that is still being compiled: the recursion in its own body."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.target: Any = None
        self.result_type: Any = None
        self.waiting: list[tuple[dict[str, Any], str]] = []

    def resolve(self, target: Any) -> None:
        self.target = target
        for namespace, name in self.waiting:
            namespace[name] = target

    def __call__(self, *args: Any) -> Any:
        return self.target(*args)


class Generated:
    """A compiled function with its text and the table from its instructions to the user's source."""

    def __init__(self, function: Any, tree: ast.Module, filename: str, positions: list[Pos | None]) -> None:
        self.function = function
        self.tree = tree
        self.filename = filename
        self.positions = positions

    @property
    def text(self) -> str:
        return ast.unparse(self.tree) + "\n"

    def position(self, code: pytypes.CodeType, lasti: int) -> Pos | None:
        """The user's position of an instruction."""
        found = next(itertools.islice(code.co_positions(), lasti // 2, None), None)
        column = found[2] if found is not None else None
        return self.positions[column] if column is not None and 0 < column < len(self.positions) else None


def generated(filename: str) -> Generated | None:
    """What was compiled under a name, as long as its function is alive."""
    return _generated.get(filename)


class Emitter:
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

    def at(self, node: Any, pos: int = 0) -> Any:
        node.lineno = node.end_lineno = self.line
        node.col_offset, node.end_col_offset = pos, pos + 1
        return node

    def load(self, name: str) -> ast.expr:
        return self.at(ast.Name(name, ast.Load()))  # type: ignore[no-any-return]

    def literal(self, value: Any) -> ast.expr:
        if type(value) is tuple:
            return self.at(ast.Tuple([self.literal(item) for item in value], ast.Load()))  # type: ignore[no-any-return]
        if type(value) in LITERALS and not (isinstance(value, float) and not math.isfinite(value)):
            if type(value) in (int, float) and (value < 0 or str(value)[0] == "-"):
                return self.at(ast.UnaryOp(self.at(ast.USub()), self.at(ast.Constant(-value))))  # type: ignore[no-any-return]
            return self.at(ast.Constant(value))  # type: ignore[no-any-return]
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
            _move(node, self.line)
        self.pending = kept

    def statement(self, node: Any) -> None:
        node.lineno = node.end_lineno = self.line
        node.col_offset, node.end_col_offset = 0, 1
        for child in ast.walk(node):
            if hasattr(child, "lineno"):
                child.lineno = child.end_lineno = self.line
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
        return self.at(ast.Call(head, rest[: len(args)], words), number)  # type: ignore[no-any-return]

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
            node = ast.Dict(parts[::2], parts[1::2])
        return None if node is None else self.at(node, number)

    def slice(self, value: slice) -> ast.expr:
        parts = [None if part is None else self.literal(part) for part in (value.start, value.stop, value.step)]
        return self.at(ast.Slice(*parts))  # type: ignore[no-any-return]

    # -- statements

    def block(self, block: Block) -> list[ast.stmt]:
        saved, self.body = self.body, []
        for stmt in block:
            METHODS[type(stmt)](self, stmt)
        self.flush()
        if not self.body:
            self.statement(ast.Pass())
        done, self.body = self.body, saved
        return done

    def op(self, op: Op) -> None:
        fn = op.fn.value if isinstance(op.fn, Const) else None
        if fn is I.raise_ or fn is I.reraise:
            parts = self.operands(op.args)
            number = self.place(op.pos)
            self.flush()
            self.statement(ast.Raise(*parts))
            self.body[-1].col_offset, self.body[-1].end_col_offset = number, number + 1
            return
        self.size = 1
        node = self.operation(op)
        count = self.counts.get(op.out, 0)
        if count == 0:
            self.flush()
            self.statement(ast.Expr(node))
            return
        if count == 1 and self.size <= MAX_FOLDED:
            self.pending.append((op.out, node, self.size))
            return
        self.pending.append((op.out, node, self.size))
        self.flush()

    def assign(self, stmt: Assign) -> None:
        [node] = self.operands([stmt.value])
        self.flush()
        self.statement(ast.Assign([self.at(ast.Name(self.name(stmt.target), ast.Store()))], node))

    def branch(self, stmt: If) -> None:
        [test] = self.operands([stmt.test])
        self.flush()
        if stmt.then:
            node = ast.If(test, [], [])
            then, orelse = stmt.then, stmt.orelse
        else:
            node = ast.If(self.at(ast.UnaryOp(self.at(ast.Not()), test)), [], [])
            then, orelse = stmt.orelse, []
        self.header(node, test)
        node.body = self.block(then)
        if orelse:
            self.orelse(node, orelse)

    def orelse(self, node: ast.If, block: Block) -> None:
        """The other arm. A lone `if` in it is printed as `elif`, on the line where `else:` would have stood."""
        self.line += 1
        node.orelse = self.block(block)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            self.line -= 1
            for child in ast.walk(node.orelse[0]):
                if hasattr(child, "lineno"):
                    child.lineno -= 1
                    child.end_lineno -= 1  # type: ignore[attr-defined]

    def header(self, node: Any, *parts: ast.expr) -> None:
        """The first line of a compound statement."""
        node.lineno = node.end_lineno = self.line
        node.col_offset, node.end_col_offset = 0, 1
        for part in parts:
            _move(part, self.line)
        self.body.append(node)
        self.line += 1

    def target(self, names: list[Var]) -> ast.expr:
        nodes: list[ast.expr] = [self.at(ast.Name(self.name(var), ast.Store())) for var in names]
        return nodes[0] if len(nodes) == 1 else self.at(ast.Tuple(nodes, ast.Store()))

    def for_(self, stmt: For) -> None:
        [source] = self.operands([stmt.iter])
        self.flush()
        node = ast.For(self.target([stmt.target]), source, [], [])
        self.header(node, source)
        node.body = self.loop_body(stmt.body, stmt.stop)

    def loop_body(self, block: Block, stop: Var | None) -> list[ast.stmt]:
        body = self.block(block)
        if stop is not None:
            saved, self.body = self.body, body
            self.leave(self.load(self.name(stop)))
            self.body = saved
        return body

    def leave(self, test: ast.expr) -> None:
        node = ast.If(test, [], [])
        self.header(node, test)
        saved, self.body = self.body, []
        self.statement(ast.Break())
        node.body, self.body = self.body, saved

    def while_(self, stmt: While) -> None:
        self.flush()
        if not stmt.cond:
            test = self.expr(stmt.test)
            node = ast.While(test, [], [])
            self.header(node, test)
            node.body = self.loop_body(stmt.body, stmt.stop)
            return
        always = self.at(ast.Constant(True))
        node = ast.While(always, [], [])
        self.header(node, always)
        saved, self.body = self.body, []
        for inner in stmt.cond:
            METHODS[type(inner)](self, inner)
        [test] = self.operands([stmt.test])
        self.flush()
        self.leave(self.at(ast.UnaryOp(self.at(ast.Not()), test)))
        node.body, self.body = self.body, saved
        node.body += self.loop_body(stmt.body, stmt.stop)

    def rewind(self, stmt: Rewind) -> None:
        self.flush()
        source = self.at(ast.Call(self.load("reversed"), [self.expr(stmt.log)], []))
        node = ast.For(self.target(stmt.targets), source, [], [])
        self.header(node, source)
        node.body = self.block(stmt.body)

    def push(self, stmt: Push) -> None:
        values = self.operands(stmt.values)
        self.flush()
        value = values[0] if len(values) == 1 else self.at(ast.Tuple(values, ast.Load()))
        method = self.at(ast.Attribute(self.load(self.name(stmt.log)), "append", ast.Load()))
        self.statement(ast.Expr(self.at(ast.Call(method, [value], []))))

    def pop(self, stmt: Pop) -> None:
        self.flush()
        method = self.at(ast.Attribute(self.load(self.name(stmt.log)), "pop", ast.Load()))
        self.statement(ast.Assign([self.target(stmt.targets)], self.at(ast.Call(method, [], []))))

    def attempt(self, stmt: Try) -> None:
        self.flush()
        node = ast.Try([], [], [], [])
        self.header(node)
        node.body = self.block(stmt.body)
        for handler in stmt.handlers:
            kinds = None if handler.kinds is None else self.expr(handler.kinds)
            name = None if handler.name is None else self.fresh(handler.name.name)
            clause = ast.ExceptHandler(kinds, name, [])
            clause.lineno = clause.end_lineno = self.line
            clause.col_offset, clause.end_col_offset = 0, 1
            if kinds is not None:
                _move(kinds, self.line)
            self.line += 1
            body: list[ast.stmt] = []
            if handler.name is not None and name is not None:  # Python unbinds the name of an `except`; ours stays
                saved, self.body = self.body, body
                self.statement(ast.Assign([self.at(ast.Name(self.name(handler.name), ast.Store()))], self.load(name)))
                self.body = saved
            clause.body = body + self.block(handler.body)
            node.handlers.append(clause)
        if stmt.orelse and stmt.handlers:
            self.line += 1
            node.orelse = self.block(stmt.orelse)
        if stmt.final or not stmt.handlers:
            self.line += 1
            node.finalbody = self.block(stmt.final)

    # -- the whole

    def compile(self, name: str, guards: Sequence[str] = ()) -> Generated:
        """Make the Python function.

        Args:
            name: for people to read.
            guards: expressions that must all be true, else the function gives MISS.
        """
        filename = f"<zad {name} {next(_numbers)}>"
        params = [self.name(param) for param in self.function.params]
        self.line = 2
        self.body = []
        for text in guards:
            self.guard(text)
        missing = list(Assigned(self.function).missing)
        if missing:
            self.statement(
                ast.Assign(
                    [self.at(ast.Name(self.name(var), ast.Store())) for var in missing], self.at(ast.Constant(None))
                )
            )
        for stmt in self.function.body:
            METHODS[type(stmt)](self, stmt)
        [result] = self.operands([self.function.result])
        self.flush()
        self.statement(ast.Return(result))
        arguments = ast.arguments(
            [],
            [ast.arg(p, lineno=1, col_offset=0, end_lineno=1, end_col_offset=1) for p in params],
            None,
            [],
            [],
            None,
            [],
        )
        title = re.sub(r"\W", "_", name).strip("_") or "derivative"
        node = ast.FunctionDef(
            title, arguments, self.body, [], None, lineno=1, col_offset=0, end_lineno=self.line, end_col_offset=1
        )
        tree = ast.Module([node], [])
        namespace = self.namespace
        namespace.setdefault("__name__", f"zad {name}")
        defined: dict[str, Any] = {}
        exec(compile(tree, filename, "exec"), namespace, defined)
        made = Generated(defined[title], tree, filename, self.positions)
        _generated[filename] = made
        linecache.cache[filename] = (lambda: made.text,)  # type: ignore[assignment]
        return made

    def guard(self, text: str) -> None:
        test = ast.parse(text, mode="eval").body
        for node in ast.walk(test):
            if hasattr(node, "lineno"):
                node.col_offset, node.end_col_offset = 0, 1
        node = ast.If(test, [], [])
        self.header(node, test)
        saved, self.body = self.body, []
        self.statement(ast.Return(self.load("MISS")))
        node.body, self.body = self.body, saved


def _move(node: ast.AST, line: int) -> None:
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


def forget(filename: str) -> None:
    """Let a dropped function's text go."""
    _generated.pop(filename, None)
    linecache.cache.pop(filename, None)


METHODS: dict[type, Any] = {
    Op: Emitter.op, Assign: Emitter.assign, If: Emitter.branch, For: Emitter.for_, While: Emitter.while_,
    Rewind: Emitter.rewind, Push: Emitter.push, Pop: Emitter.pop, Try: Emitter.attempt,
}  # fmt: skip
__all__ = ["Emitter", "Generated", "Late", "Stmt", "forget", "generated"]
