"""Expressions of the user's source as operations of the small language, in Python's order of evaluation."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..rules.errors import UnsupportedError
from ..rules.places import Place
from . import intrinsics as I
from .ir import Assign, Atom, Block, Const, For, Function, If, Op, Pos, Push, Stmt, Var, While, blocks, defines

BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
INPLACE: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv, ast.Mod: operator.imod, ast.Pow: operator.ipow, ast.MatMult: operator.imatmul,
    ast.BitAnd: operator.iand, ast.BitOr: operator.ior, ast.BitXor: operator.ixor, ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[..., Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
FINITE_CONSUMERS = {"sum", "min", "max", "list", "tuple", "sorted", "prod", "set", "len", "array", "asarray"}


class InnerDefinition:
    """A `def` or `lambda` inside a function: its syntax tree and where its free names live."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, outer: Expressions) -> None:
        self.node = node
        self.outer = outer
        self.name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        self.function: Function | None = None


class Expressions:
    """Writes operations into `self.out`, the block under construction."""

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.file = file
        self.out: Block = []
        self.locals: dict[str, Var] = {}
        self.free: dict[str, Var] = {}
        self.builders: set[str] = set()
        self.bound: dict[str, int] | None = None
        self.whole: Block = []
        self.parameters: list[str] = []

    # -- helpers

    def pos(self, node: ast.AST) -> Pos:
        get = node.__dict__.get
        line, col = get("lineno", 0), get("col_offset", 0)
        return Pos(self.file, line, col, get("end_lineno", line), get("end_col_offset", col), self.name)

    def unsupported(self, construct: str, node: ast.AST, instead: str = "") -> UnsupportedError:
        place = Place(self.file, getattr(node, "lineno", 0))
        advice = instead or "Write a rule for the function, or write this line another way."
        return UnsupportedError(
            f"{self.name} cannot be differentiated: {construct} at {place} is not supported yet. {advice}"
        )

    def emit(self, fn: Callable[..., Any] | Atom, *args: Atom, node: ast.AST, **kwargs: Atom) -> Var:
        out = Var("t")
        head = fn if isinstance(fn, Var | Const) else Const(fn)
        self.out.append(Op(out, head, list(args), kwargs, self.pos(node)))
        return out

    def assign(self, target: Var, value: Atom, node: ast.AST | None = None) -> None:
        self.out.append(Assign(target, value, None if node is None else self.pos(node)))

    def bindings(self) -> dict[str, int]:
        """How often each local name is bound; 2 stands for more than once."""
        if self.bound is None:
            self.bound = {}
            for stmt, often in _with_loops(self.whole, False):
                for var in defines(stmt):
                    if var.user:
                        self.bound[var.name] = self.bound.get(var.name, 0) + (2 if often else 1)
            for name in self.parameters:
                self.bound[name] = self.bound.get(name, 0) + 1
        return self.bound

    @contextmanager
    def into(self, block: Block) -> Iterator[Block]:
        saved, self.out = self.out, block
        try:
            yield block
        finally:
            self.out = saved

    # -- expressions

    def expr(self, node: ast.expr) -> Atom:
        method = getattr(self, "expr_" + type(node).__name__, None)
        if method is None:
            raise self.unsupported(f"{NAMES.get(type(node), type(node).__name__)}", node)
        atom: Atom = method(node)
        return atom

    def expr_Constant(self, node: ast.Constant) -> Atom:
        return Const(node.value)

    def expr_Name(self, node: ast.Name) -> Atom:
        if node.id in self.locals:
            return self.locals[node.id]
        if node.id in self.free:
            return self.free[node.id]
        return self.emit(I.load_global, Const(node.id), node=node)

    def expr_BinOp(self, node: ast.BinOp) -> Atom:
        left, right = self.expr(node.left), self.expr(node.right)
        return self.emit(BINARY[type(node.op)], left, right, node=node)

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Atom:
        operand = self.expr(node.operand)
        if isinstance(operand, Const) and isinstance(operand.value, int | float) and isinstance(node.op, ast.USub):
            return Const(-operand.value)
        return self.emit(UNARY[type(node.op)], operand, node=node)

    def expr_BoolOp(self, node: ast.BoolOp) -> Atom:
        result = Var("t")
        self._bool(result, node.values, isinstance(node.op, ast.And), node)
        return result

    def _bool(self, result: Var, values: list[ast.expr], both: bool, node: ast.AST) -> None:
        first = self.expr(values[0])
        self.assign(result, first, node)
        if len(values) > 1:
            with self.into([]) as rest:
                self._bool(result, values[1:], both, node)
            self.branch(first, rest if both else [], [] if both else rest, node)

    def expr_Compare(self, node: ast.Compare) -> Atom:
        left, right = self.expr(node.left), self.expr(node.comparators[0])
        if len(node.ops) == 1:
            return self._compare(left, node.ops[0], right, node)
        result = Var("t")
        self._chain(result, left, right, node, 0)
        return result

    def _chain(self, result: Var, left: Atom, right: Atom, node: ast.Compare, index: int) -> None:
        """`a < b < c` reads b once and stops at the first comparison that fails."""
        test = self._compare(left, node.ops[index], right, node)
        self.assign(result, test, node)
        if index + 1 < len(node.ops):
            with self.into([]) as rest:
                self._chain(result, right, self.expr(node.comparators[index + 1]), node, index + 1)
            self.branch(test, rest, [], node)

    def _compare(self, left: Atom, op: ast.cmpop, right: Atom, node: ast.AST) -> Atom:
        if isinstance(op, ast.In | ast.NotIn):
            found = self.emit(operator.contains, right, left, node=node)
            return found if isinstance(op, ast.In) else self.emit(operator.not_, found, node=node)
        return self.emit(COMPARE[type(op)], left, right, node=node)

    def expr_IfExp(self, node: ast.IfExp) -> Atom:
        result = Var("t")
        test = self.expr(node.test)
        with self.into([]) as then:
            self.assign(result, self.expr(node.body), node.body)
        with self.into([]) as orelse:
            self.assign(result, self.expr(node.orelse), node.orelse)
        self.branch(test, then, orelse, node)
        return result

    def branch(self, test: Atom, then: Block, orelse: Block, node: ast.AST | None) -> None:
        self.out.append(If(test, then, orelse, None if node is None else self.pos(node)))

    def expr_NamedExpr(self, node: ast.NamedExpr) -> Atom:
        value = self.expr(node.value)
        if node.target.id not in self.locals:
            raise self.unsupported("`:=` to a name of an enclosing scope", node)
        self.assign(self.locals[node.target.id], value, node)
        return value

    def expr_Attribute(self, node: ast.Attribute) -> Atom:
        return self.emit(getattr, self.expr(node.value), Const(node.attr), node=node)

    def expr_Subscript(self, node: ast.Subscript) -> Atom:
        return self.emit(operator.getitem, self.expr(node.value), self.expr(node.slice), node=node)

    def expr_Slice(self, node: ast.Slice) -> Atom:
        parts = [Const(None) if part is None else self.expr(part) for part in (node.lower, node.upper, node.step)]
        if all(isinstance(part, Const) for part in parts):
            return Const(slice(*[part.value for part in parts if isinstance(part, Const)]))
        return self.emit(slice, *parts, node=node)

    def expr_Tuple(self, node: ast.Tuple) -> Atom:
        return self._display(I.build_tuple, node.elts, node)

    def expr_List(self, node: ast.List) -> Atom:
        return self._display(I.build_list, node.elts, node)

    def expr_Set(self, node: ast.Set) -> Atom:
        return self._display(I.build_set, node.elts, node)

    def _display(self, build: Callable[..., Any], elts: list[ast.expr], node: ast.AST) -> Atom:
        if any(isinstance(item, ast.Starred) for item in elts):
            args = self._spread(elts, node)
            kinds: dict[Callable[..., Any], Callable[..., Any]] = {I.build_list: list, I.build_set: set}
            kind = kinds.get(build)
            return args if kind is None else self.emit(kind, args, node=node)
        items = [self.expr(item) for item in elts]
        if build is I.build_tuple and all(isinstance(item, Const) for item in items):
            return Const(tuple(item.value for item in items if isinstance(item, Const)))
        return self.emit(build, *items, node=node)

    def _spread(self, elts: list[ast.expr], node: ast.AST) -> Atom:
        """A tuple with starred parts in it: pieces, added up."""
        total: Atom = Const(())
        for item in elts:
            if isinstance(item, ast.Starred):
                piece: Atom = self.emit(tuple, self.expr(item.value), node=item)
            else:
                piece = self.emit(I.build_tuple, self.expr(item), node=item)
            total = piece if isinstance(total, Const) else self.emit(operator.add, total, piece, node=node)
        return total

    def expr_Dict(self, node: ast.Dict) -> Atom:
        items: list[Atom] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.unsupported("`**` in a dict display", node)
            items += [self.expr(key), self.expr(value)]
        return self.emit(I.build_dict, *items, node=node)

    def expr_JoinedStr(self, node: ast.JoinedStr) -> Atom:
        return self.emit(I.build_string, *[self.expr(part) for part in node.values], node=node)

    def expr_FormattedValue(self, node: ast.FormattedValue) -> Atom:
        value = self.expr(node.value)
        converters: dict[int, Callable[..., Any]] = {115: str, 114: repr, 97: ascii}
        convert = converters.get(node.conversion)
        if convert is not None:
            value = self.emit(convert, value, node=node)
        spec = Const("") if node.format_spec is None else self.expr(node.format_spec)
        return self.emit(format, value, spec, node=node)

    def expr_Lambda(self, node: ast.Lambda) -> Atom:
        return self.inner(node)

    def inner(self, node: ast.FunctionDef | ast.Lambda) -> Atom:
        args = node.args
        defaults = [self.expr(value) for value in args.defaults]
        keyword_only = {
            arg.arg: self.expr(value)
            for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if value is not None
        }
        return self.emit(I.make_function, Const(InnerDefinition(node, self)), *defaults, node=node, **keyword_only)

    def expr_Call(self, node: ast.Call) -> Atom:
        fn = self.expr(node.func)
        starred = any(isinstance(arg, ast.Starred) for arg in node.args)
        if starred or any(word.arg is None for word in node.keywords):
            return self._call_star(fn, node)
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in FINITE_CONSUMERS and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            args = [self.comprehension(node.args[0].elt, node.args[0].generators, node.args[0])]
        else:
            args = [self.expr(arg) for arg in node.args]
        kwargs = {word.arg: self.expr(word.value) for word in node.keywords if word.arg is not None}
        out = Var("t")
        self.out.append(Op(out, fn, args, kwargs, self.pos(node)))
        return out

    def _call_star(self, fn: Atom, node: ast.Call) -> Atom:
        args = self._spread(node.args, node) if node.args else Const(())
        if len(node.keywords) == 1 and node.keywords[0].arg is None:
            return self.emit(I.call_star, fn, args, self.expr(node.keywords[0].value), node=node)
        names: list[Atom] = []
        for word in node.keywords:
            if word.arg is None:
                raise self.unsupported("`**` beside other keywords in a call", node, "Write the keywords out.")
            names += [Const(word.arg), self.expr(word.value)]
        return self.emit(I.call_star, fn, args, self.emit(I.build_dict, *names, node=node), node=node)

    # -- comprehensions: a loop that pushes onto a log

    def expr_ListComp(self, node: ast.ListComp) -> Atom:
        return self.comprehension(node.elt, node.generators, node)

    def comprehension(self, elt: ast.expr, generators: list[ast.comprehension], node: ast.expr) -> Atom:
        log = self.emit(I.new_list, node=node)
        shadowed = dict(self.locals)
        self._comprehend(log, elt, generators, node)
        self.locals = shadowed
        return self.emit(list, log, node=node)

    def _comprehend(self, log: Var, elt: ast.expr, generators: list[ast.comprehension], node: ast.AST) -> None:
        if not generators:
            self.out.append(Push(log, [self.expr(elt)]))
            return
        first, rest = generators[0], generators[1:]
        if first.is_async:
            raise self.unsupported("an asynchronous comprehension", node)
        source = self.expr(first.iter)
        for name in ast.walk(first.target):  # a comprehension's targets are its own
            if isinstance(name, ast.Name):
                self.locals[name.id] = Var(name.id, user=True)
        item = Var("item")
        with self.into([]) as body:
            self.store(first.target, item)
            self._filter(log, elt, first.ifs, rest, node)
        self.out.append(For(item, source, body, None, self.pos(node)))

    def _filter(
        self, log: Var, elt: ast.expr, tests: list[ast.expr], rest: list[ast.comprehension], node: ast.AST
    ) -> None:
        if not tests:
            self._comprehend(log, elt, rest, node)
            return
        test = self.expr(tests[0])
        with self.into([]) as then:
            self._filter(log, elt, tests[1:], rest, node)
        self.branch(test, then, [], node)

    # -- targets

    def store(self, target: ast.expr, value: Atom) -> None:
        if isinstance(target, ast.Name):
            if target.id not in self.locals:
                raise self.unsupported(f"assignment to the global or outer name `{target.id}`", target)
            self.assign(self.locals[target.id], value, target)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, target)
        elif isinstance(target, ast.Subscript):
            raise self.unsupported("assignment to an item (`a[i] = …`)", target, "Build a new value instead.")
        elif isinstance(target, ast.Attribute):
            raise self.unsupported("assignment to an attribute", target, "Pass the value on as a result instead.")
        else:
            raise self.unsupported(f"assignment to {type(target).__name__}", target)

    def _unpack(self, elts: list[ast.expr], value: Atom, node: ast.AST) -> None:
        stars = [index for index, item in enumerate(elts) if isinstance(item, ast.Starred)]
        if stars:
            before, after = stars[0], len(elts) - stars[0] - 1
            items = self.emit(I.unpack_star, value, Const(before), Const(after), node=node)
        else:
            items = self.emit(I.unpack, value, Const(len(elts)), node=node)
        for index, item in enumerate(elts):
            part = self.emit(operator.getitem, items, Const(index), node=item)
            self.store(item.value if isinstance(item, ast.Starred) else item, part)


def _with_loops(block: Block, often: bool) -> Iterator[tuple[Stmt, bool]]:
    """Every statement, with whether it stands in a loop."""
    for stmt in block:
        yield stmt, often
        for inner in blocks(stmt):
            yield from _with_loops(inner, often or isinstance(stmt, For | While))


NAMES: dict[type[ast.AST], str] = {
    ast.GeneratorExp: "a generator expression (use a list comprehension)", ast.DictComp: "a dict comprehension",
    ast.SetComp: "a set comprehension", ast.Await: "await", ast.Yield: "yield", ast.YieldFrom: "yield from",
    ast.Starred: "a starred expression here",
}  # fmt: skip
