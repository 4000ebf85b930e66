"""The user's source as a function of the small language: statements, scopes, and jumps turned into flags.

`break`, `continue` and `return` in the middle leave code behind that must not run any more. Where one arm of an `if`
always jumps, the rest of the block moves into the other arm; where that is not enough, a flag is set and the rest is
put under a test of it. Loops are left at the end of the round in which their flag was set. So every function has one
exit, and both the inliner and the reversal can go by structure.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass

from ..rules.errors import UnsupportedError
from ..rules.places import Place
from . import intrinsics as I
from . import source
from .expressions import INPLACE, NAMES, Expressions, InnerDefinition
from .ir import Assign, Atom, Block, Const, For, Function, Handler, If, Push, Try, Var, While
from .scope import assigned_names, builder_names, free_names

NAMES |= {
    ast.With: "`with`", ast.AsyncWith: "`async with`", ast.AsyncFor: "`async for`", ast.Match: "`match`",
    ast.ClassDef: "a class defined inside a function", ast.AsyncFunctionDef: "`async def`", ast.TryStar: "`except*`",
    ast.Delete: "`del`", ast.Nonlocal: "`nonlocal`",
}  # fmt: skip


MAX_FORMS = 512


@dataclass
class Flow:
    """How a piece of code can be left: by falling through, or by a jump that has set its flag."""

    falls: bool = True
    jumps: bool = False

    def __or__(self, other: Flow) -> Flow:
        return Flow(self.falls or other.falls, self.jumps or other.jumps)


@dataclass
class Loop:
    """Flags of a loop under construction: leave it, and skip the rest of this round."""

    stop: Var
    skip: Var
    left: bool = False
    returned: bool = False


class Normalizer(Expressions):
    def __init__(self, name: str, file: str, code: types.CodeType | None) -> None:
        super().__init__(name, file)
        self.code = code
        self.loops: list[Loop] = []
        self.value = Var("result")
        self.returned = Var("returned")
        self.in_handler = 0

    # -- the whole function

    def function(self, node: source.Definition, free: list[str]) -> Function:
        args = node.args
        params = [*args.posonlyargs, *args.args]
        if args.vararg:
            params.append(args.vararg)
        params += args.kwonlyargs
        if args.kwarg:
            params.append(args.kwarg)
        self.free = {name: Var(name, user=True) for name in free}
        statements: list[ast.stmt] = (
            node.body if isinstance(node, ast.FunctionDef) else [ast.copy_location(ast.Return(node.body), node.body)]
        )
        for arg in params:
            self.locals[arg.arg] = Var(arg.arg, user=True)
        inputs = [self.locals[arg.arg] for arg in params]
        for name in assigned_names(statements):
            self.locals.setdefault(name, Var(name, user=True))
        self.builders = builder_names(statements, {arg.arg for arg in params})
        flow = self.block(statements)
        if flow.falls:
            with self.into([]) as end:
                self.assign(self.value, Const(None))
            if flow.jumps:
                self.branch(self.returned, [], end, None)
            else:
                self.out += end
        self.whole, self.parameters = self.out, [arg.arg for arg in params]
        start: Block = [Assign(self.returned, Const(False)), Assign(self.value, Const(I.UNBOUND))]
        return Function(
            self.name, inputs, start + self.out, self.value, self.file, node.lineno, self.free, self.code, args
        )

    def block(self, statements: list[ast.stmt]) -> Flow:
        for index, node in enumerate(statements):
            rest = statements[index + 1 :]
            if isinstance(node, ast.If):
                flow, taken = self._if(node, rest)
                if taken:
                    return flow
            else:
                method = getattr(self, "stmt_" + type(node).__name__, None)
                if method is None:
                    raise self.unsupported(NAMES.get(type(node), type(node).__name__), node)
                flow = method(node) or Flow()
            if not flow.falls:
                return flow
            if flow.jumps:
                return self._guarded(flow, rest)
        return Flow()

    def _guarded(self, flow: Flow, rest: list[ast.stmt]) -> Flow:
        """The rest of a block after something that may have jumped."""
        with self.into([]) as block:
            after = self.block(rest)
        self.branch(self._jumped(), [], block, None)
        return Flow(after.falls, True)

    def _jumped(self) -> Var:
        return self.loops[-1].skip if self.loops else self.returned

    def _if(self, node: ast.If, rest: list[ast.stmt]) -> tuple[Flow, bool]:
        """An `if`; says whether the rest of the block has been taken into one of its arms."""
        test = self.expr(node.test)
        with self.into([]) as then:
            first = self.block(node.body)
        with self.into([]) as orelse:
            second = self.block(node.orelse)
        taken = False
        if rest and not first.falls and not second.jumps and second.falls:
            with self.into(orelse):
                second, taken = self.block(rest), True
        elif rest and not second.falls and not first.jumps and first.falls:
            with self.into(then):
                first, taken = self.block(rest), True
        self.branch(test, then, orelse, node)
        return first | second, taken

    # -- statements

    def stmt_Pass(self, node: ast.Pass) -> None:
        pass

    def stmt_Global(self, node: ast.Global) -> None:
        for name in node.names:
            if name in self.locals:
                raise self.unsupported(f"assignment to the global name `{name}`", node)

    def stmt_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ):
            name = call.func.value.id
            if call.func.attr == "append" and name in self.builders and len(call.args) == 1 and not call.keywords:
                self.out.append(Push(self.locals[name], [self.expr(call.args[0])]))
                return
        if not isinstance(call, ast.Constant):
            self.expr(call)

    def expr_Name(self, node: ast.Name) -> Atom:
        if node.id in self.builders and isinstance(node.ctx, ast.Load):
            return self.emit(list, self.locals[node.id], node=node)
        return super().expr_Name(node)

    def expr_Subscript(self, node: ast.Subscript) -> Atom:
        if isinstance(node.value, ast.Name) and node.value.id in self.builders:
            return self.emit(operator.getitem, self.locals[node.value.id], self.expr(node.slice), node=node)
        return super().expr_Subscript(node)

    def expr_Call(self, node: ast.Call) -> Atom:
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            arg = node.args[0]
            if isinstance(arg, ast.Name) and arg.id in self.builders:
                return self.emit(len, self.locals[arg.id], node=node)
        return super().expr_Call(node)

    def stmt_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.builders:
            log = self.emit(I.new_list, node=node.value)
            for item in getattr(node.value, "elts", []):
                self.out.append(Push(log, [self.expr(item)]))
            self.assign(self.locals[target.id], log, node)
            return
        value = self.expr(node.value)
        for target in node.targets:
            self.store(target, value)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.stmt_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.unsupported("augmented assignment to an item or attribute", node, "Build a new value instead.")
        old = self.expr(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        value = self.expr(node.value)
        self.store(node.target, self.emit(INPLACE[type(node.op)], old, value, node=node))

    def stmt_Return(self, node: ast.Return) -> Flow:
        value = Const(None) if node.value is None else self.expr(node.value)
        self.assign(self.value, value, node)
        self.assign(self.returned, Const(True))
        for loop in self.loops:
            self.assign(loop.stop, Const(True))
            self.assign(loop.skip, Const(True))
            loop.left = loop.returned = True
        return Flow(falls=False, jumps=True)

    def stmt_Break(self, node: ast.Break) -> Flow:
        loop = self.loops[-1]
        loop.left = True
        self.assign(loop.stop, Const(True))
        self.assign(loop.skip, Const(True))
        return Flow(falls=False, jumps=True)

    def stmt_Continue(self, node: ast.Continue) -> Flow:
        self.assign(self.loops[-1].skip, Const(True))
        return Flow(falls=False, jumps=True)

    def stmt_For(self, node: ast.For) -> Flow:
        source_ = self.expr(node.iter)
        item = Var("item")
        loop, body = self._loop_body(node.body, lambda: self.store(node.target, item))
        self._enter(loop)
        self.out.append(For(item, source_, body, loop.stop if loop.left else None, self.pos(node)))
        return self._after(loop, node.orelse, endless=False)

    def stmt_While(self, node: ast.While) -> Flow:
        with self.into([]) as cond:
            test = self.expr(node.test)
        loop, body = self._loop_body(node.body, lambda: None)
        self._enter(loop)
        self.out.append(While(cond, test, body, loop.stop if loop.left else None, self.pos(node)))
        return self._after(loop, node.orelse, endless=isinstance(test, Const) and bool(test.value))

    def _loop_body(self, statements: list[ast.stmt], begin: Callable[[], None]) -> tuple[Loop, Block]:
        loop = Loop(Var("stop"), Var("skip"))
        self.loops.append(loop)
        with self.into([]) as body:
            self.assign(loop.skip, Const(False))
            begin()
            self.block(statements)
        self.loops.pop()
        return loop, body

    def _enter(self, loop: Loop) -> None:
        self.assign(loop.stop, Const(False))

    def _after(self, loop: Loop, orelse: list[ast.stmt], endless: bool) -> Flow:
        """What follows a loop: its `else`, and whether anything after it can run at all."""
        flow = Flow(falls=not (endless and not loop.left), jumps=False)
        if orelse:
            with self.into([]) as block:
                flow = self.block(orelse)
            if loop.left:
                self.branch(loop.stop, [], block, None)
            else:
                self.out += block
            flow.falls = flow.falls or loop.left
        if loop.returned:
            flow.jumps = True
        return flow

    def stmt_Raise(self, node: ast.Raise) -> Flow:
        if node.exc is None:
            self.emit(I.reraise, node=node)
        else:
            parts = [self.expr(part) for part in (node.exc, node.cause) if part is not None]
            self.emit(I.raise_, *parts, node=node)
        return Flow(falls=False)

    def stmt_Assert(self, node: ast.Assert) -> None:
        test = self.expr(node.test)
        with self.into([]) as failed:
            message = [] if node.msg is None else [self.expr(node.msg)]
            error = self.emit(Const(AssertionError), *message, node=node)
            self.emit(I.raise_, error, node=node)
        self.branch(test, [], failed, node)

    def stmt_Try(self, node: ast.Try) -> Flow:
        with self.into([]) as body:
            flow = self.block(node.body)
        with self.into([]) as orelse:
            after = self.block(node.orelse)
        if node.orelse and flow.falls and flow.jumps:
            orelse = [If(self._jumped(), [], orelse)]
        total = after if node.orelse and flow.falls else flow
        total = Flow(total.falls, total.jumps or flow.jumps)
        handlers = []
        for item in node.handlers:
            handler, left = self._handler(item)
            handlers.append(handler)
            total = total | left
        with self.into([]) as final:
            last = self.block(node.finalbody)
        if last.jumps:
            raise self.unsupported("`return`, `break` or `continue` inside `finally`", node)
        self.out.append(Try(body, handlers, orelse, final, self.pos(node)))
        return total if last.falls else last

    def _handler(self, node: ast.ExceptHandler) -> tuple[Handler, Flow]:
        with self.into([]) as cond:
            kinds = None if node.type is None else self.expr(node.type)
        name = None if node.name is None else self.locals[node.name]
        with self.into([]) as body:
            flow = self.block(node.body)
            if name is not None:
                self.assign(name, Const(I.UNBOUND))
        return Handler(kinds, name, cond, body), flow

    def stmt_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.unsupported("a decorator on an inner function", node)
        self.assign(self.locals[node.name], self.inner(node), node)

    def stmt_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname and "." in alias.name:
                raise self.unsupported("`import a.b as c` inside a function", node, "Import at the top instead.")
            module = self.emit(I.import_module, Const(alias.name), Const(()), Const(0), node=node)
            self.assign(self.locals[alias.asname or alias.name.split(".")[0]], module, node)

    def stmt_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            raise self.unsupported("a relative import inside a function", node, "Import at the top instead.")
        names = tuple(alias.name for alias in node.names)
        module = self.emit(I.import_module, Const(node.module), Const(names), Const(0), node=node)
        for alias in node.names:
            value = self.emit(getattr, module, Const(alias.name), node=node)
            self.assign(self.locals[alias.asname or alias.name], value, node)


_forms: dict[int, tuple[types.CodeType, Function]] = {}  # by identity: equal code may stand in two files


def normal_form(code: types.CodeType) -> Function:
    """Bring the function that a code object belongs to into the small language.

    Raises:
        SourceError: its source cannot be had or has changed.
        UnsupportedError: it uses something the compiler cannot differentiate, named with file and line.
    """
    known = _forms.get(id(code))
    if known is not None:
        return known[1]
    kind = kind_of(code)
    if kind:
        raise UnsupportedError(
            f"{code.co_name} ({Place(code.co_filename, code.co_firstlineno)}) is {kind}; "
            f"these cannot be differentiated yet. "
            f"Write a rule for it, or return a list instead."
        )
    node = source.definition(code)
    form = Normalizer(code.co_name, code.co_filename, code).function(node, list(code.co_freevars))
    if len(_forms) >= MAX_FORMS:
        _forms.clear()
    _forms[id(code)] = (code, form)
    return form


def forget_file(filename: str) -> None:
    """A file was executed again: what its old code objects became is not asked for any more."""
    for key in [key for key, (code, _) in list(_forms.items()) if code.co_filename == filename]:
        _forms.pop(key, None)


def kind_of(code: types.CodeType) -> str:
    """What makes a function more than a plain one, in words, or nothing."""
    flags = code.co_flags
    return (
        "a coroutine"
        if flags & 0x80
        else "an asynchronous generator"
        if flags & 0x200
        else "a generator"
        if flags & 0x20
        else ""
    )


def inner_function(inner: InnerDefinition) -> Function:
    """The small-language function of a `def` or `lambda` inside another function."""
    if inner.function is None:
        outer = inner.outer
        code = None
        if isinstance(outer, Normalizer) and outer.code is not None:
            code = source.inner_code(outer.code, inner.node)
        visible = {**outer.free, **outer.locals}
        free = [name for name in free_names(inner.node) if name in visible]
        if code is not None and kind_of(code):
            raise outer.unsupported(f"{inner.name}, {kind_of(code)}", inner.node)
        inner.function = Normalizer(inner.name, outer.file, code).function(inner.node, free)
    return inner.function
