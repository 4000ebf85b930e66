"""What can go wrong with rules, told so that the reader knows what happened, where, and what to write instead.

The texts are composed by whoever raises (they know the call); here are the classes and what they carry.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ZadError(Exception):
    """Base of every error that zad_jupyter raises on purpose."""


class RuleDefinitionError(ZadError, TypeError):
    """A rule that cannot be one: refused where it is written."""


class NoRuleError(ZadError, TypeError):
    """A call for which there is no rule and nothing else to do."""


class AmbiguousRuleError(ZadError, TypeError):
    """Two rules apply to a call and neither is more specific.

    Attributes:
        rules: the rules between which there is no choice.
        suggestion: the call signature that would settle it, such as "f(int, int)".
    """

    def __init__(self, message: str, rules: Sequence[Any] = (), suggestion: str = "") -> None:
        super().__init__(message)
        self.rules = tuple(rules)
        self.suggestion = suggestion


class MissingReturnError(ZadError, TypeError):
    """A rule reached its end, or a bare `return`, where it had to return something.

    Attributes:
        rule: the rule.
        place: where it stands.
    """

    def __init__(self, rule: Any, place: Any = None, message: str = "") -> None:
        place = place if place is not None else rule.place
        super().__init__(message or (
            f"the rule {rule.name} ({place}) ended without returning anything.\n"
            "  To opt out, write `return None`; otherwise end with `return y, pullback`."))
        self.rule, self.place = rule, place


class RuleResultError(ZadError, TypeError):
    """A rule returned something that is neither `(y, pullback)` nor `None`."""


class CotangentError(ZadError, TypeError):
    """A pullback returned cotangents that do not fit the rule's arguments."""


class UnsupportedError(ZadError, NotImplementedError):
    """A construct that cannot be differentiated (yet)."""
