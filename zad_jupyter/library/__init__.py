"""The rules that ship, in the same kind of table as the user's."""

from ..rules import registry, shipping_owner

with registry.transaction(shipping_owner(), "the rules that ship"):
    from . import autograd_bridge, containers, cotangent_rules, numpy_core, scalars

__all__ = ["autograd_bridge", "containers", "cotangent_rules", "numpy_core", "scalars"]
