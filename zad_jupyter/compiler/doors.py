"""Behind the doors of `api`: find a call's compiled entry or compile it, run it, and tell errors as the user's own."""

from __future__ import annotations

import sys
import types as pytypes
import weakref
from abc import get_cache_token
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import cotangents as C
from ..rules import registry
from . import cache, generated, handlers, running, runtime, sites, tracebacks, transform
from .cache import MISS, Entry
from .calls import Call
from .emit import FIRST_LINE
from .transform import Wanted

Runs = dict[Any, Callable[..., Any]]

PATIENCE = 20

fast: Runs = {}  # of `gradient`: for each function what ran last, which checks by itself whether it fits the call
_modes: dict[Any, Runs] = {}  # the same for `grad` and its kin, by what they want
_lists: dict[Any, list[Entry]] = {}
_of_run: dict[Callable[..., Any], Entry] = {}


class State:
    """What ran last."""

    last: Callable[..., Any] | None = None
    token: Any = get_cache_token()  # what it is as long as a gradient may go straight ahead
    classes: Any = token  # goes up when a class is registered with an ABC: answers may differ then
    first: Callable[[], None] | None = None


def look_first(callback: Callable[[], None] | None) -> None:
    """Have something called before every outermost gradient; None ends that, and costs nothing."""
    state.first = callback
    state.token = get_cache_token() if callback is None else None


def attend() -> None:
    """Something is to be done before the next gradient: look at files, or ask again since an ABC has a new class."""
    if state.first is not None:
        state.first()
    now = get_cache_token()
    if now != state.classes:
        state.classes = now
        _ask_again()
    state.token = now if state.first is None else None


def _ask_again() -> None:
    """A class was registered with an ABC: put every entry's questions again."""
    now = registry.snapshot()
    with cache.lock:
        for entry in cache.entries():
            if entry.alive and not cache.still_true(entry, now):
                cache.drop(entry)


state = State()


def misfit(error: BaseException) -> bool:
    """Whether an error says that a gradient does not fit its call: another number of arguments, or its check failed
    (a global that is gone). Nothing of the user's has run then."""
    if not isinstance(error, KeyError | ValueError | AttributeError | TypeError) or error.__traceback__ is None:
        return False
    inside = error.__traceback__.tb_next
    while inside is not None:
        made = generated.find(inside.tb_frame.f_code.co_filename)
        if made is not None:
            return made.guarded and inside.tb_lineno == FIRST_LINE
        inside = inside.tb_next
    return True


for_user = tracebacks.for_user


def unwrap(f: Any, args: tuple[Any, ...], wanted: Wanted) -> tuple[Any, tuple[Any, ...], Wanted, int]:
    """Methods and callable objects as plain functions of the object and the arguments."""
    if isinstance(f, pytypes.MethodType):
        return f.__func__, (f.__self__, *args), (False, *wanted), 1
    if not isinstance(f, pytypes.FunctionType | pytypes.BuiltinFunctionType | type | np.ufunc) and callable(f):
        method = getattr(type(f), "__call__", None)  # noqa: B004 - the method itself is wanted
        if isinstance(method, pytypes.FunctionType) and not runtime.is_ours(method):
            return method, (f, *args), (False, *wanted), 1
    if not callable(f):
        raise TypeError(f"the first argument is the function to differentiate; got a {type(f).__name__}")
    return f, args, wanted, 0


def runs_of(mode: Any) -> Runs:
    """What ran last for each function, among the derivatives that want the same."""
    return _modes.setdefault(mode, {})


def base_key(f: Any) -> Any:
    """What a function is found by: its code, since every run of a `lambda` makes another function of the same code."""
    if isinstance(f, pytypes.FunctionType):
        return id(f.__code__)
    if handlers.is_derivative(f):
        return f.key()
    return id(f)


class Modes:
    """What a derivative is found by: its innermost function, and what is wanted, order by order. There is one of
    each, so that finding it takes no longer than finding a function."""

    __slots__ = ("__weakref__", "base", "modes")

    def __init__(self, base: Any, modes: tuple[Any, ...]) -> None:
        self.base = base
        self.modes = modes


_of_modes: weakref.WeakValueDictionary[Any, Modes] = weakref.WeakValueDictionary()


def modes_of(base: Any, modes: tuple[Any, ...]) -> Modes:
    """The one key of a derivative; `base` is the key of its innermost function."""
    with cache.lock:
        found = _of_modes.get((base, modes))
        if found is None:
            found = _of_modes[base, modes] = Modes(base, modes)
        return found


def kept(f: Any) -> Any:
    """What must not go away as long as the key of f is used."""
    while handlers.is_derivative(f):
        f = f.f
    return f.__code__ if isinstance(f, pytypes.FunctionType) else f


def key_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: Wanted, value: bool) -> Any:
    """Where the entries of a call are found."""
    words = tuple((name, type(word)) for name, word in kwargs.items())
    return (base_key(f), (wanted, value, words), *map(type, args))


def run(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: Wanted, value: bool, runs: Runs) -> Any:
    """The gradient of f (with its value, if that is asked for), compiled if it is not yet.

    Args:
        f: the function; args, kwargs: its arguments.
        wanted: for each positional argument whether its gradient is wanted.
        value: give (value, gradient).
        runs: where the caller looks first the next time.
    """
    __tracebackhide__ = True
    f, args, wanted, extra = unwrap(f, args, wanted)
    key = key_of(f, args, kwargs, wanted, value)
    if kwargs or extra:
        runs = {}
    with running.Scope() as asked:
        given = (f, *args, *kwargs.values())
        for entry in (*_lists.get(key, ()), *running.private(asked).get(key, ())):
            result = _call(entry.run, given) if cache.true_for(entry, asked) else MISS
            if result is not MISS:
                break
        else:
            for _ in range(PATIENCE):  # another thread may change a function while this one compiles it
                entry = compiled(f, args, kwargs, wanted, value, key_of(f, args, kwargs, wanted, value))
                result = _call(entry.run, given)
                if result is not MISS:
                    break
            else:
                raise RuntimeError(
                    f"the gradient of {entry.name} does not fit the call it was compiled for; please report this"
                )
    state.last = entry.run
    _remember(runs, entry)
    for seen in _recordings:
        seen.setdefault(entry, f)
    return _without(result, extra, value)


_recordings: list[dict[Entry, Any]] = []


@contextmanager
def recording() -> Iterator[dict[Entry, Any]]:
    """Collect the gradients that run in a `with` block, each with a function that it was the gradient of."""
    seen: dict[Entry, Any] = {}
    with cache.lock:
        for runs in (fast, *_modes.values()):
            runs.clear()  # what is found at once is not seen here
        _recordings.append(seen)
    try:
        yield seen
    finally:
        _recordings.remove(seen)


def _remember(runs: Runs, entry: Entry) -> None:
    """Let the next call find an entry at once, unless somebody could then find what is not of his generation."""
    if cache.lock.acquire(blocking=False):
        try:
            if entry.alive and entry.kept and not running.others_behind():
                runs[entry.key[0]] = entry.run
        finally:
            cache.lock.release()


def _without(result: Any, extra: int, value: bool) -> Any:
    if not extra:
        return result
    return (result[0], result[1][extra:]) if value else result[extra:]


def _call(run: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    __tracebackhide__ = True
    try:
        return run(*given)
    except BaseException as error:
        if misfit(error):
            return MISS
        for_user(error)
        raise


def compiled(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: Wanted, value: bool, key: Any) -> Entry:
    """Compile an entry and put it where calls find it."""
    __tracebackhide__ = True
    with cache.compiling:
        try:
            entry = transform.compile_joint(f, args, kwargs, wanted, value)
        except Exception as error:
            for_user(error)
            raise
    entry.key, entry.keep = key, kept(f)
    asked = running.generation()
    with cache.lock:
        if not cache.true_for(entry, registry.snapshot()):  # changed in the meantime: for this generation only
            entry.kept = False
            running.private(asked).setdefault(key, []).insert(0, entry)
            entry.checked = asked.number
            return entry
        entry.code_key = id(entry.keep) if isinstance(entry.keep, pytypes.CodeType) else None
        found = _lists.setdefault(key, [])
        for old in [old for old in found if not cache.usable(old, f)]:
            cache.drop(old)
        found.insert(0, entry)
        del found[8:]
        _of_run[entry.run] = entry
        cache.add_entry(entry)
        if not cache.true_for(entry, registry.snapshot()):
            cache.drop(entry)
    return entry


def _forget(entry: Entry) -> None:
    found = _lists.get(entry.key)
    if found is not None and entry in found:
        found.remove(entry)
        for runs in (fast, *_modes.values()):
            if runs.get(entry.key[0]) is entry.run:
                del runs[entry.key[0]]
        if not found:
            del _lists[entry.key]
    _of_run.pop(entry.run, None)


cache.on_drop(_forget)


def rekey(entry: Entry, codes: dict[int, pytypes.CodeType]) -> None:
    """The function of an entry has another code object, which is the same but for its lines."""
    new = codes.get(entry.code_key) if entry.code_key is not None else None
    if new is None:
        return
    alive = entry in _lists.get(entry.key, ())
    _forget(entry)
    cache.by_code(entry, id(new))
    own = entry.key[0]
    entry.key = (modes_of(id(new), own.modes) if isinstance(own, Modes) else id(new), *entry.key[1:])
    entry.keep = new
    if alive:
        _lists.setdefault(entry.key, []).insert(0, entry)
        _of_run[entry.run] = entry


def last_entry() -> Entry | None:
    """The entry of the gradient that ran last."""
    return None if state.last is None else _of_run.get(state.last)


def last_call_tree() -> Call | None:
    """The static selection tree of the gradient that ran last."""
    entry = last_entry()
    return None if entry is None else entry.tree


class Pulled:
    """A pullback: from a cotangent of the value to those of the arguments. May be called again."""

    def __init__(self, back: runtime.Back | None, args: tuple[Any, ...], skip: int, shape: Any, name: str) -> None:
        self.back = back
        self.args = args
        self.skip = skip  # leading arguments that are not the caller's: the object of a method
        self.shape = shape
        self.name = name
        self.generation = running.generation()

    def __call__(self, ybar: Any) -> tuple[Any, ...]:
        __tracebackhide__ = True
        if self.shape is not None and np.shape(ybar) != self.shape:
            raise TypeError(
                f"the value of {self.name} has shape {self.shape}, so its cotangent must have that shape too; "
                f"got {np.shape(ybar)}"
            )
        try:
            with running.Scope(self.generation):
                parts = runtime.call_back(self.back, ybar)
        except BaseException as error:
            for_user(error)
            raise
        given = tuple(C.finish(arg, parts[i + 1]) for i, arg in enumerate(self.args) if i >= self.skip)
        return C.distinct(given, ybar)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<pullback of {self.name}>"


def pullback(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Pulled]:
    """The value of f and its pullback; arrays that the caller still holds are copied first."""
    __tracebackhide__ = True
    attend()
    f, given, wanted, extra = unwrap(f, args, (True,) * len(args))
    copies = tuple(_copied(value) for value in given)
    site = runtime.Site((False, *wanted, *(False for _ in kwargs)), tuple(kwargs), None, None)
    try:
        with running.Scope():
            y, back = sites.lookup(site, own_body(f), (*copies, *kwargs.values()))
            shape = np.shape(y) if isinstance(y, np.ndarray | float | int | np.generic) else None
            return y, Pulled(back, copies, extra, shape, getattr(f, "__name__", "f"))
    except BaseException as error:
        for_user(error)
        raise


def own_body(f: Any) -> Any:
    """f itself; inside a rule of f, where f's own rule would call itself for ever, f's body."""
    if not isinstance(f, pytypes.FunctionType) or f.__closure__:
        return f
    codes = {rule.function.__code__ for rule in registry.rules(f) if isinstance(rule.function, pytypes.FunctionType)}
    frame = sys._getframe() if codes else None
    while frame is not None:
        if frame.f_code in codes:
            return runtime.Body(f)
        frame = frame.f_back
    return f


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(_copied(item) for item in value)
    return value


def seed(value: Any) -> Any:
    """The cotangent 1 of a scalar."""
    return C.seed_like(value)


class Source(str):
    """Generated code; shows itself when it is the last line of a cell."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre><code>{escape(str(self))}</code></pre>"


def entry_for(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
    """The entry of gradient(f, *args), compiled but not run."""
    attend()
    f, args, wanted, _ = unwrap(f, args, (True,) * len(args))
    key = key_of(f, args, kwargs, wanted, False)
    for entry in _lists.get(key, ()):
        if cache.usable(entry, f):
            return entry
    return compiled(f, args, kwargs, wanted, False, key)


def source(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Source:
    entry = entry_for(f, args, kwargs)
    texts = [made.derivative for part in sorted(entry.everything(), key=lambda e: e is not entry) for made in part.code]
    return Source("\n".join(texts))


def traced(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Call, BaseException | None]:
    """Run (value, gradient) with every call counted: value, gradient, tree, error."""
    attend()
    f, args, wanted, extra = unwrap(f, args, (True,) * len(args))
    root = Call("error", getattr(f, "__name__", "f"))
    try:
        with running.Scope():
            with cache.compiling:
                entry = transform.compile_joint(f, args, kwargs, wanted, True, tracing=True)
            root = entry.tree or root
            result = entry.run(f, *args, *kwargs.values())
    except Exception as error:
        return None, None, root, for_user(error)
    value, grads = _without(result, extra, True)
    return value, grads, root, None
