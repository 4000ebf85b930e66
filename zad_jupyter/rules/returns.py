"""How can a rule end? Read from its source, since bytecode cannot tell.

`return None`, a bare `return` and falling off the end are one and the same to Python; to us the first is an
opt-out and the other two are mistakes. So, unless every way out visibly gives a tuple, the AST of the rule function
is read, once per code object. Source is trusted only if compiling it gives the very code the function has; without
it, every None counts as an opt-out.
"""
from __future__ import annotations
import __future__

import ast
import copy
import dis
import inspect
import linecache
import weakref
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from .syntax import FunctionNode, lines_of, own_nodes, text_of

MISSING = ...          # what a checked twin returns where the rule itself would return nothing



@dataclass(frozen=True, slots=True)
class Endings:
    """The ways in which a function can end.

    Attributes:
        only_none: its whole body is `return None` (a docstring allowed).
        says_nothing: no path returns (not even None) or raises.
        may_opt_out: some `return` may give None on purpose.
        may_fall_off: some path ends in a bare `return`, or at the end of the body.
        node: the function's AST, or None when its source cannot be had.
    """

    only_none: bool
    says_nothing: bool
    may_opt_out: bool
    may_fall_off: bool
    node: FunctionNode | None


UNKNOWN = Endings(only_none=False, says_nothing=False, may_opt_out=True, may_fall_off=False, node=None)

# What nearly every rule is: each `return` has a tuple behind it.
ONLY_TUPLES = Endings(only_none=False, says_nothing=False, may_opt_out=False, may_fall_off=False, node=None)

_BUILD_TUPLE, _RETURN = dis.opmap["BUILD_TUPLE"], dis.opmap["RETURN_VALUE"]
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_CONSTANT = {dis.opmap[name] for name in ("RETURN_CONST",) if name in dis.opmap}         # Python 3.12 and 3.13


_known: dict[int, tuple[weakref.ref[CodeType], Endings]] = {}


def endings_of(function: FunctionType) -> Endings:
    """How `function` can end; `UNKNOWN` when its source is not to be had."""
    code = function.__code__
    known = _known.get(id(code))
    # By identity: code objects compare equal across files, and even `return` and `return None` do.
    if known is not None and known[0]() is code:
        return known[1]
    if _gives_only_tuples(code):
        endings = ONLY_TUPLES
    else:
        node = find_node(code)
        endings = UNKNOWN if node is None else read_endings(node)
    key = id(code)
    _known[key] = weakref.ref(code, lambda _: _known.pop(key, None)), endings
    return endings


def _gives_only_tuples(code: CodeType) -> bool:
    """Whether bytecode alone shows that every way out gives a tuple. No's are to be looked into."""
    operations = code.co_code[::2]
    returns = [i for i, operation in enumerate(operations) if operation == _RETURN]
    if not returns or code.co_flags & _SUSPENDS or not _CONSTANT.isdisjoint(operations):
        return False
    if any(operations[i - 1] != _BUILD_TUPLE for i in returns):
        return False
    jumps = dis.findlabels(code.co_code)      # type: ignore[arg-type]      # bytes, says its documentation
    return {2 * i for i in returns}.isdisjoint(jumps)               # `return x and (x, x)` jumps past the tuple


def read_endings(node: FunctionNode) -> Endings:
    """The endings of a function's AST.

    >>> read_endings(ast.parse("def _(x):\\n  if x: return x, x").body[0]).may_fall_off
    True
    """
    if isinstance(node, ast.Lambda):
        return Endings(_is_none(node.body), False, not isinstance(node.body, ast.Tuple), False, node)
    body = node.body
    if ast.get_docstring(node, clean=False) is not None:
        body = body[1:]
    only_none = len(body) == 1 and isinstance(body[0], ast.Return) and _is_none(body[0].value)
    own = list(own_nodes(node))
    values = [n.value for n in own if isinstance(n, ast.Return) and n.value is not None]
    bare = any(isinstance(n, ast.Return) and n.value is None for n in own)
    raises = any(isinstance(n, ast.Raise) for n in own)
    # Only a tuple display is sure not to be None: `return helper(x)` may be an opt-out.
    return Endings(only_none, says_nothing=not values and not raises,
                   may_opt_out=any(not isinstance(v, ast.Tuple) for v in values),
                   may_fall_off=bare or _completes(node.body), node=node)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _completes(body: list[ast.stmt]) -> bool:
    """Whether control can reach the end of these statements. Errs towards yes: that costs a test, no mistake."""
    return all(_statement_completes(statement) for statement in body)


def _statement_completes(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return False
    if isinstance(node, ast.If):
        return _completes(node.body) or _completes(node.orelse)
    if isinstance(node, ast.While):
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return not endless or _has_break(node.body)
    if isinstance(node, ast.For | ast.AsyncFor):
        return True
    if isinstance(node, ast.Try | ast.TryStar):
        if node.finalbody and not _completes(node.finalbody):
            return False
        tried = _completes(node.body) and (not node.orelse or _completes(node.orelse))
        return tried or any(_completes(handler.body) for handler in node.handlers)
    if isinstance(node, ast.Match):
        exhaustive = any(case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
                         for case in node.cases)
        return not exhaustive or any(_completes(case.body) for case in node.cases)
    return True                      # `with` too: its manager may swallow an exception


def _has_break(body: list[ast.stmt]) -> bool:
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            if _has_break(node.orelse):
                return True
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                if _has_break(getattr(node, name, [])):
                    return True
            if any(_has_break(part.body) for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]):
                return True
    return False


# ---------------------------------------------------------------------------------------------- finding the source

def find_node(code: CodeType) -> FunctionNode | None:
    """The AST of the function whose code this is, if the file or cell still says exactly that."""
    filename = code.co_filename
    node = _look_up(code, lines_of(filename))
    if node is None:                     # the file may have been edited since its lines were last read
        linecache.checkcache(filename)
        node = _look_up(code, linecache.getlines(filename))
    return node


def _look_up(code: CodeType, lines: list[str]) -> FunctionNode | None:
    try:
        text = text_of(code.co_filename, lines)
    except (SyntaxError, ValueError):
        return None
    for node in text.functions.get((code.co_firstlineno, code.co_name), ()):
        # A call `m.f()` compiles differently if the same unit imports m. A file is one unit; IPython compiles a
        # cell statement by statement. So both are tried.
        for known in ((), text.imports) if text.imports else ((),):
            twin = compile_node(node, code, known)
            if twin is not None and same_code(twin, code):
                return node
    return None


def compile_node(node: FunctionNode, code: CodeType, imports: tuple[str, ...] = ()) -> CodeType | None:
    """Compile a function's AST by itself, with the free variables that `code` has, where these names are imported."""
    at: dict[str, Any] = {"lineno": node.lineno, "col_offset": 0, "end_lineno": node.lineno, "end_col_offset": 0}
    inner: ast.stmt = ast.Expr(node, **at) if isinstance(node, ast.Lambda) else _without_outside(node)
    free = [ast.arg(name, **at) for name in code.co_freevars]
    outer = ast.FunctionDef(name="outer", args=_arguments(free), body=[inner], decorator_list=[], **at)
    first: list[ast.stmt] = [ast.Import([ast.alias(name, **at) for name in imports], **at)] if imports else []
    tree = ast.Module(body=[*first, outer], type_ignores=[])
    try:
        future = code.co_flags & __future__.annotations.compiler_flag
        compiled = compile(tree, code.co_filename, "exec", flags=future, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    shell = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    return next((c for c in shell.co_consts if isinstance(c, CodeType)), None)


def _without_outside(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function without decorators, defaults and annotations: they run outside of its code."""
    def plain(arg: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(arg.arg), arg)
    a = node.args
    args = ast.arguments(posonlyargs=[plain(x) for x in a.posonlyargs], args=[plain(x) for x in a.args],
                         vararg=plain(a.vararg) if a.vararg else None, kwonlyargs=[plain(x) for x in a.kwonlyargs],
                         kw_defaults=[None] * len(a.kwonlyargs), kwarg=plain(a.kwarg) if a.kwarg else None, defaults=[])
    bare = type(node)(name=node.name, args=args, body=node.body, decorator_list=[])
    return ast.copy_location(bare, node)


def _arguments(args: list[ast.arg]) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])


def same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects do the same, wherever they stand (lines, file names and CO_NESTED are not compared)."""
    return (a.co_code == b.co_code and a.co_names == b.co_names and a.co_varnames == b.co_varnames
            and a.co_freevars == b.co_freevars and a.co_cellvars == b.co_cellvars and a.co_name == b.co_name
            and a.co_argcount == b.co_argcount and a.co_posonlyargcount == b.co_posonlyargcount
            and a.co_kwonlyargcount == b.co_kwonlyargcount and a.co_flags & 0xEF == b.co_flags & 0xEF
            and a.co_exceptiontable == b.co_exceptiontable and len(a.co_consts) == len(b.co_consts)
            and all(map(_same_constant, a.co_consts, b.co_consts)))


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, CodeType):
        return isinstance(b, CodeType) and same_code(a, b)
    return type(a) is type(b) and repr(a) == repr(b)      # repr tells 0.0 from -0.0, and (1,) from (True,)


# -------------------------------------------------------------------------------------------------- the checked twin

class _NameTheMissing(ast.NodeTransformer):
    """`return` becomes `return ...`; inner functions and classes are left alone."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is None:
            return ast.copy_location(ast.Return(ast.copy_location(ast.Constant(MISSING), node)), node)
        return node

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave


def checked_twin(function: FunctionType, endings: Endings) -> FunctionType | None:
    """A copy of `function` that returns `MISSING` where the original falls off its end.

    Same globals, closure, defaults and lines, so that tracebacks and behaviour are the original's.
    Returns None when the source is not to be had.
    """
    node = endings.node
    if node is None or isinstance(node, ast.Lambda):
        return None
    twin = copy.deepcopy(node)        # the index shares the original with everybody who asks later
    twin.body = [_NameTheMissing().visit(statement) for statement in twin.body]
    last = node.body[-1]
    tail = ast.Return(ast.Constant(MISSING))
    for part in ast.walk(tail):
        if isinstance(part, ast.expr | ast.stmt):
            part.lineno = part.end_lineno = last.end_lineno or last.lineno
            part.col_offset = part.end_col_offset = 0
    twin.body.append(tail)
    code = compile_node(twin, function.__code__)
    if code is None:
        return None
    code = code.replace(co_firstlineno=function.__code__.co_firstlineno, co_qualname=function.__code__.co_qualname)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    checked = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    checked.__kwdefaults__ = function.__kwdefaults__
    return checked
