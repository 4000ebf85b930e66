"""What the compiler knows of certain functions, by what they are for: see `handlers`."""

from . import attributes, compiled, containers, control, cotangents, names

__all__ = ["attributes", "compiled", "containers", "control", "cotangents", "names"]
