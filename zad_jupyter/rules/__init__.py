"""Which rule does a call get?  The open, live table of rules; knows nothing of differentiation.

Read in this order: `rule` (what a rule is), `signature` (what it accepts), `selection` (which one wins), `registry`
(how the table changes), `define` (the doors), `explain` (why).
"""
from .define import (
    expression_rule,
    make_rrule,
    non_differentiable,
    opt_in,
    opt_out,
    rrule,
    scalar_rule,
    shipping_owner,
)
from .errors import (
    AmbiguousRuleError,
    CotangentError,
    MissingReturnError,
    NoRuleError,
    RuleDefinitionError,
    RuleResultError,
    UnsupportedError,
    ZadError,
)
from .explain import Considered, Explanation, call_rule, call_text, explain, given_arguments, which_rule
from .places import Cell, Owner, Place, cell_of, forget_cells, owner_of, register_cell
from .registry import Registry, registry
from .rule import OPT_OUT, Answer, Change, Rule
from .selection import Generation
from .targets import display_name

__all__ = [
    "OPT_OUT", "AmbiguousRuleError", "Answer", "Cell", "Change", "Considered", "CotangentError", "Explanation",
    "Generation", "MissingReturnError", "NoRuleError", "Owner", "Place", "Registry", "Rule", "RuleDefinitionError",
    "RuleResultError", "UnsupportedError", "ZadError", "call_rule", "call_text", "cell_of", "display_name", "explain",
    "expression_rule", "forget_cells", "given_arguments", "make_rrule", "non_differentiable", "opt_in", "opt_out",
    "owner_of", "register_cell", "registry", "rrule", "scalar_rule", "shipping_owner", "which_rule",
]
