"""From the small language to a plain Python function: the last step.

Code is built as a syntax tree, one statement a line, so that its text (`ast.unparse`, made only when somebody looks)
has the same lines. The column of every node is the number of the operation it came from: an exception's instruction
leads through it to the position in the user's own source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from ..rules.errors import UnsupportedError
from ..rules.syntax import parse
from . import intrinsics as I
from .assigned import Assigned
from .generated import Generated, define
from .ir import Assign, Block, Const, For, Handler, If, Op, Pop, Push, Rewind, Try, Var, While
from .written import Written, move

FIRST_LINE = 2  # of a generated body: where the check stands
MAX_FOLDED = 12  # operations in one generated expression: more is no longer read at a glance


class Emitter(Written):
    """Statements; expressions are written by the base class."""

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
            child: Any  # those that have a place
            for child in ast.walk(node.orelse[0]):
                if hasattr(child, "lineno"):
                    child.lineno -= 1
                    child.end_lineno -= 1

    def header(self, node: Any, *parts: ast.expr) -> None:
        """The first line of a compound statement."""
        node.lineno = node.end_lineno = self.line
        node.col_offset, node.end_col_offset = 0, 1
        for part in parts:
            move(part, self.line)
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
        number = self.place(stmt.pos)  # asking an iterator for its next item may raise, too
        source.col_offset, source.end_col_offset = number, number + 1
        node.col_offset, node.end_col_offset = number, number + 1
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

    def kinds(self, handler: Handler) -> ast.expr | None:
        """Which exceptions a handler takes: one expression, since it is evaluated only when there is an exception."""
        if handler.kinds is None:
            return None
        count = len(self.body)
        for stmt in handler.cond:
            METHODS[type(stmt)](self, stmt)
        [kinds] = self.operands([handler.kinds])
        if len(self.body) != count or self.pending:
            raise UnsupportedError(
                "an `except` whose exceptions are computed by more than one expression is not supported yet"
            )
        return kinds

    def attempt(self, stmt: Try) -> None:
        self.flush()
        node = ast.Try([], [], [], [])
        self.header(node)
        node.body = self.block(stmt.body)
        for handler in stmt.handlers:
            kinds = self.kinds(handler)
            name = None if handler.name is None else self.fresh(handler.name.name)
            clause = ast.ExceptHandler(kinds, name, [])
            clause.lineno = clause.end_lineno = self.line
            clause.col_offset, clause.end_col_offset = 0, 1
            if kinds is not None:
                move(kinds, self.line)
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
        params = [self.name(param) for param in self.function.params]
        self.line = FIRST_LINE
        self.body = []
        if guards:
            self.guard(" and ".join(guards))
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
        return define(name, node, self.namespace, self.positions, guarded=bool(guards))

    def guard(self, text: str) -> None:
        test = parse(f"not ({text})", mode="eval").body
        part: Any  # those that have a place
        for part in ast.walk(test):
            if hasattr(part, "lineno"):
                part.col_offset, part.end_col_offset = 0, 1
        node = ast.If(test, [], [])
        self.header(node, test)
        saved, self.body = self.body, []
        self.statement(ast.Return(self.load("MISS")))
        node.body, self.body = self.body, saved


METHODS: dict[type, Any] = {
    Op: Emitter.op, Assign: Emitter.assign, If: Emitter.branch, For: Emitter.for_, While: Emitter.while_,
    Rewind: Emitter.rewind, Push: Emitter.push, Pop: Emitter.pop, Try: Emitter.attempt,
}  # fmt: skip
