"""Which names a function binds, which it borrows, and which of its lists only it can see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONSUMERS = {
    "sum", "min", "max", "tuple", "list", "sorted", "prod", "array", "asarray", "stack", "concatenate", "fsum", "zip",
    "enumerate", "reversed", "vstack", "hstack", "mean", "print",
}  # fmt: skip


def own_nodes(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that belongs to this scope: inner functions' bodies and comprehensions' targets left out."""
    todo: list[ast.AST] = list(statements)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, COMPREHENSIONS):
            todo += [child for child in ast.walk(node) if isinstance(child, ast.NamedExpr)]
            continue
        todo += ast.iter_child_nodes(node)


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """The names that a function's own statements bind, sorted."""
    names: set[str] = set()
    borrowed: set[str] = set()
    for node in own_nodes(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            if node.name:
                names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Global | ast.Nonlocal):
            borrowed |= set(node.names)
    return sorted(names - borrowed)


def parameter_names(args: ast.arguments) -> set[str]:
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    found += [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return {arg.arg for arg in found}


def free_names(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The names that an inner function reads without binding them, in order of appearance."""
    body: list[ast.stmt] = node.body if isinstance(node, ast.FunctionDef) else [ast.Expr(node.body)]
    bound = parameter_names(node.args) | set(assigned_names(body))
    found: dict[str, None] = {}
    for statement in body:
        _free(statement, frozenset(bound), found)
    return list(found)


def _free(node: ast.AST, bound: frozenset[str], found: dict[str, None]) -> None:
    if isinstance(node, ast.Name):
        if node.id not in bound:
            found[node.id] = None
        return
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        for name in free_names(node):
            if name not in bound:
                found[name] = None
        for default in [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]:
            _free(default, bound, found)
        return
    if isinstance(node, COMPREHENSIONS):
        own = {name.id for part in node.generators for name in ast.walk(part.target) if isinstance(name, ast.Name)}
        bound = bound | own
    for child in ast.iter_child_nodes(node):
        _free(child, bound, found)


def builder_names(statements: list[ast.stmt], parameters: set[str]) -> set[str]:
    """The lists that are grown by `append` and that nothing but their one name can reach.

    Such a list is a log: appending to it is reversed by taking the last cotangent off. A list that is also reachable
    through another name, a container or a closure is not among these.
    """
    grown, others = set(), set(parameters)
    made: dict[str, int] = {}  # how often it is a new list
    allowed: set[int] = set()
    for node in own_nodes(statements):
        name = _appended(node)
        if name is not None:
            grown.add(name.id)
            allowed.add(id(name))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _fresh_list(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                made[targets[0].id] = made.get(targets[0].id, 0) + 1
                allowed.add(id(targets[0]))
        elif isinstance(node, ast.Call) and _called(node.func) in CONSUMERS | {"len"}:
            allowed |= {id(arg) for arg in node.args}
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            allowed.add(id(node.value))
        elif isinstance(node, ast.If | ast.IfExp):
            allowed.add(id(node.test))
        elif isinstance(node, ast.For):
            if not any(_appended(inner) is not None for inner in ast.walk(node)):
                allowed.add(id(node.iter))
        elif isinstance(node, ast.Return) and node.value is not None:
            # nothing can be appended any more: here it may go anywhere
            allowed |= {id(inner) for inner in ast.walk(node.value) if isinstance(inner, ast.Name)}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and id(node) not in allowed:
                others.add(node.id)
    # Made anew in a loop, it is one list and then another: that is not followed yet.
    often = {name for name, count in made.items() if count > 1}
    return (grown & made.keys()) - others - (often & _made_in_loops(statements))


def _made_in_loops(statements: list[ast.stmt]) -> set[str]:
    return {
        target.id
        for node in own_nodes(statements)
        if isinstance(node, ast.For | ast.While)
        for inner in own_nodes(node.body)
        if isinstance(inner, ast.Assign) and _fresh_list(inner.value)
        for target in inner.targets
        if isinstance(target, ast.Name)
    }


def _called(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _fresh_list(node: ast.expr) -> bool:
    if isinstance(node, ast.List):
        return not any(isinstance(item, ast.Starred) for item in node.elts)
    return isinstance(node, ast.Call) and _called(node.func) == "list" and not node.args and not node.keywords


def _appended(node: ast.AST) -> ast.Name | None:
    """The name in `name.append(value)` standing as a statement."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "append"
            and isinstance(call.func.value, ast.Name)
            and len(call.args) == 1
            and not call.keywords
        ):
            return call.func.value
    return None
