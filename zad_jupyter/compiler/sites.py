"""Call sites that choose when they run, at any order of differentiation.

`call_forward(site, f, x)` runs forward the pair that belongs to the types x turns out to have. When that call is
differentiated itself, the code reads `call_forward(site2, call_forward, site, f, x)`, and so on: as many pairs on top
of each other, each the pair of the forward function of the one below. What they give is nested accordingly,
`((y, kept), kept2)`, and so are the cotangents that come back.
"""

from __future__ import annotations

import inspect
import types as pytypes
import weakref
from collections.abc import Sequence
from typing import Any

from ..rules.errors import UnsupportedError
from ..rules.places import Place
from . import generated, running, runtime
from . import types as T
from .cache import Identity, Pair
from .context import cell_values
from .pairs import pairs


def lookup(site: runtime.Site, fn: Any, args: tuple[Any, ...]) -> Any:
    """Run one call forward, by the pair for the types that it turns out to have.

    Args:
        site: the place of the call.
        fn: the function; `call_forward` and `call_back` themselves at higher orders.
        args: its arguments.

    Returns:
        The value, and what is kept for the way back (None if nothing differentiable went in).
    """
    sites = [site]
    while fn is runtime.call_forward:
        inner, fn, *rest = args
        sites.append(inner)
        args = tuple(rest)
    if fn is runtime.call_back:
        return _backwards(sites, *args)
    base = sites[-1]
    function, given, active, method = unbound(base, fn, args)
    cells = [] if generated.form_of(function) is not None else cell_values(function)
    if cells:
        given, active = _with_defaults(function, given, active)
        cells = cells if _takes(function, len(given), base.active[0]) else []
    if isinstance(function, runtime.Body):
        function = function.function
    elif not cells or running.generation().table(function) is not None:
        function, cells = asked(function), []
    types = [T.type_of(value) for value in (*cells, *given)]
    flags = [want and T.differentiable(t) for want, t in zip((True,) * len(cells) + active, types, strict=True)]
    if not any(flags):
        return _plain(function(*given), len(sites))
    if base.pairs is None:
        entry = pairs.get(function, types, flags, len(cells))
    else:
        entry = base.pairs.get(function, types, flags, len(cells), site=base)
    base.show(entry.tree)
    shape = runtime.Shape(cells=len(cells), method=method)
    return _tower(entry, types, [*cells, *given], len(sites), shape)


def _plain(value: Any, levels: int) -> Any:
    """The value of a call with nothing to differentiate, as every level expects it."""
    for _ in range(levels):
        value = (value, None)
    return value


def _tower(entry: Pair, types: Sequence[T.Type], values: Sequence[Any], levels: int, shape: runtime.Shape) -> Any:
    """Run the top one of some pairs, each for the forward function of the one below."""
    tower = [entry]
    flags = [T.differentiable(type_) for type_ in types]
    for _ in range(levels - 1):
        tower.append(pairs.get(tower[-1].forward, list(types), flags, 0))
    found, kept = tower[-1].forward(*values)
    keeps = [kept]
    for _ in range(levels - 1):
        found, kept = found
        keeps.insert(0, kept)
    value = shape.outward(found)
    for level, (pair, kept) in enumerate(zip(tower, keeps, strict=True)):
        back = runtime.Back(pair.reverse, kept, pair.saved_type, shape.at(level)) if pair.result_active else None
        value = (value, back)
    return value


def _backwards(sites: list[runtime.Site], back: runtime.Back | None, ybar: Any) -> Any:
    """`call_back` itself, differentiated: the pair of its reverse function, for what was kept and the cotangent."""
    if back is None or ybar is None:
        return _plain(runtime.NOTHING, len(sites))
    bar = back.shape.inward(ybar)
    types = [T.type_of(back.saved) if back.saved_type is T.UNKNOWN else back.saved_type, T.type_of(bar)]
    flags = [True, T.differentiable(types[1])]
    entry = pairs.get(back.reverse, types, flags, 0)
    return _tower(entry, types, [back.saved, bar], len(sites), runtime.Shape(of=back.shape))


def unbound(site: runtime.Site, fn: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], tuple[bool, ...], bool]:
    """A method as the function in its class, with the object as the first argument."""
    active, method = site.active[1:], False
    owner = getattr(fn, "__self__", None)
    if isinstance(fn, pytypes.MethodType):
        fn, method = fn.__func__, True
    elif isinstance(fn, pytypes.BuiltinMethodType) and not (
        owner is None or isinstance(owner, pytypes.ModuleType | type)
    ):
        fn, method = getattr(type(owner), fn.__name__), True
    if method:
        args, active = (owner, *args), (site.active[0], *active)
    if site.keywords:
        fn = _with_keywords(fn, site.keywords)
    return fn, args, active, method


VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

_asked: weakref.WeakValueDictionary[Identity, runtime.Asked] = weakref.WeakValueDictionary()


def asked(function: Any) -> Any:
    """The call of a Python function as something that is compiled like a call in its caller: with its question."""
    if not isinstance(function, pytypes.FunctionType) or generated.form_of(function) is not None:
        return function
    key = Identity(function)
    found = _asked.get(key)
    if found is None or found.function is not function:
        found = _asked[key] = runtime.Asked(function)
    return found


def _takes(function: Any, count: int, active: bool) -> bool:
    """Whether a closure can be compiled with what it closes over as arguments of its own.

    Raises:
        UnsupportedError: it cannot, and what it closes over is differentiated.
    """
    code = function.__code__
    if code.co_argcount == count and not code.co_kwonlyargcount and not code.co_flags & VARIADIC:
        return True
    if active:
        raise UnsupportedError(
            f"{code.co_name} ({Place(code.co_filename, code.co_firstlineno)}) closes over something that is "
            f"differentiated and takes *args, **kwargs or keyword-only arguments: as a value that is chosen when the "
            f"code runs, that cannot be differentiated yet. Give it plain arguments."
        )
    return False


def _with_defaults(
    function: Any, given: tuple[Any, ...], active: tuple[bool, ...]
) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    """The arguments of a closure, with the defaults of those that were left out: none of them is differentiated."""
    missing = function.__code__.co_argcount - len(given)
    defaults = function.__defaults__ or ()
    if 0 < missing <= len(defaults):
        return (*given, *defaults[len(defaults) - missing :]), (*active, *(False,) * missing)
    return given, active


_keyword_twins: dict[Any, Any] = {}


def _with_keywords(fn: Any, names: tuple[str, ...]) -> Any:
    """A function that takes some keywords of fn as its last positional arguments."""
    key = (Identity(fn), names)
    if key not in _keyword_twins:
        _keyword_twins[key] = runtime.KeywordCall(fn, names)
    return _keyword_twins[key]


runtime.set_lookup(lookup)
