"""Write a rule's expression in place, with the atoms of a call for its parameters.

A shipped expression is a lambda over library functions: it is read once, its names are resolved for good, and from
then on writing it means copying a few operations. A user's expression may read globals that change, so it is left as
a call, which `infer` inlines with the guards that belong to it.
"""

from __future__ import annotations

import builtins
import operator
import types as pytypes
from typing import TYPE_CHECKING, Any

from . import intrinsics as I
from . import runtime
from .ir import Assign, Atom, Const, Function, Op, Var
from .normal import normal_form

if TYPE_CHECKING:
    from .reverse import Reverser

_templates: dict[pytypes.CodeType, Function | None] = {}


def instantiate(
    rev: Reverser, function: pytypes.FunctionType, args: list[Atom], count: int, wanted: list[bool] | None = None
) -> list[Atom]:
    """The results of an expression rule's function, as atoms.

    Args:
        rev: the reverser that the operations are written into.
        function: takes the arguments and gives one value, or a tuple of `count` of them.
        args: what each parameter stands for.
        count: how many results there are.
        wanted: which of the results are used: the others' operations are not written.
    """
    code = function.__code__
    if code not in _templates:
        _templates[code] = _template(function)
    template = _templates[code]
    if template is None:
        value = rev.emit(Const(function), *args)
        return [value] if count == 1 and not _gives_tuple(function) else [
            rev.emit(operator.getitem, value, Const(i)) for i in range(count)
        ]  # fmt: skip
    names: dict[Var, Atom] = dict(zip(template.params, args, strict=True))
    parts: list[Atom] | None = None
    needed = _needed(template, wanted)

    def of(atom: Atom) -> Atom:
        return names.get(atom, atom) if isinstance(atom, Var) else atom

    for stmt in template.body:
        assert isinstance(stmt, Op)
        assert isinstance(stmt.fn, Const)
        if stmt.fn.value is I.build_tuple and stmt.out is template.result:
            parts = [of(arg) for arg in stmt.args]
            continue
        if stmt.out not in needed:
            continue
        words = {name: of(arg) for name, arg in stmt.kwargs.items()}
        names[stmt.out] = rev.emit(stmt.fn, *[of(arg) for arg in stmt.args], kwargs=words)
    return parts if parts is not None else [of(template.result)]


def _needed(template: Function, wanted: list[bool] | None) -> set[Any]:
    """What the wanted results of a template are computed from."""
    needed: set[Any] = {template.result}
    for stmt in reversed(template.body):
        if isinstance(stmt, Op) and stmt.out in needed:
            args = stmt.args
            if (
                stmt.out is template.result
                and wanted is not None
                and isinstance(stmt.fn, Const)
                and stmt.fn.value is I.build_tuple
            ):
                args = [arg for arg, want in zip(args, wanted, strict=True) if want]
            needed |= {*args, *stmt.kwargs.values()}
    return needed


def _gives_tuple(function: pytypes.FunctionType) -> bool:
    return function.__code__.co_varnames[: function.__code__.co_argcount][-1:] == ("g",)


def _template(function: pytypes.FunctionType) -> Function | None:
    """A shipped straight-line expression with every name resolved; None for anything else."""
    if not runtime.is_ours(function) or function.__closure__:
        return None
    form = normal_form(function.__code__)
    known: dict[Var, Atom] = {}
    body: list[Any] = []

    def of(atom: Atom) -> Atom:
        while isinstance(atom, Var) and atom in known:
            atom = known[atom]
        return atom

    for stmt in form.body:
        if isinstance(stmt, Assign):
            known[stmt.target] = of(stmt.value)
        elif isinstance(stmt, Op):
            fn, args = of(stmt.fn), [of(arg) for arg in stmt.args]
            value = _resolved(function, fn, args)
            if value is not None:
                known[stmt.out] = value
            elif isinstance(fn, Const):
                body.append(Op(stmt.out, fn, args, {n: of(a) for n, a in stmt.kwargs.items()}, stmt.pos))
            else:
                return None
        else:
            return None
    return Function(form.name, form.params, body, of(form.result))


def _resolved(function: pytypes.FunctionType, fn: Atom, args: list[Atom]) -> Const | None:
    if not isinstance(fn, Const):
        return None
    if fn.value is I.load_global:
        assert isinstance(args[0], Const)
        name = args[0].value
        return Const(function.__globals__[name] if name in function.__globals__ else getattr(builtins, name))
    if fn.value is getattr and isinstance(args[0], Const) and isinstance(args[1], Const):
        return Const(getattr(args[0].value, args[1].value))
    return None
