"""A small lattice of classes, and rules for it in a line."""
import abc

from zad_jupyter.rules import registry, rrule


class Animal:
    pass


class Mammal(Animal):
    pass


class Dog(Mammal):
    pass


class Fish(Animal):
    pass


class Swims(abc.ABC):      # noqa: B024
    pass


class Dives(Swims):
    pass


class Platypus(Mammal):
    pass


Dives.register(Platypus)


def rule_for(f, *annotations, shipped=False):
    """A rule for f with these annotations (object: no annotation)."""
    names = "abcd"[: len(annotations)]
    scope = {"pb": lambda g: (g,)}
    exec(f"def r({', '.join(names)}): return 0, pb", scope)
    function = scope["r"]
    function.__annotations__ = {n: t for n, t in zip(names, annotations, strict=True) if t is not object}
    return rrule(f, layer="shipped" if shipped else "user")(function)


def chosen(f, *types, **keywords):
    """The rule that a call of f with these classes gets."""
    answer = registry.select(f, types, tuple(keywords.items()))
    return answer.rule
