"""The tree as JSON: what the panel, a test or another tool reads.

The schema is ``docs/reference/trace.schema.json``; a test holds the two together.
"""

from __future__ import annotations

from typing import Any

from zad_jupyter.trace.tree import Node


def to_json(root: Node) -> dict[str, Any]:
    """The tree as dictionaries, lists, strings and numbers.

    Example:
        >>> to_json(Node("recursed", "loss", ("float",), place="cell 4:1"))["place"]
        'cell 4:1'
    """
    made: dict[str, Any] = {
        "outcome": root.outcome,
        "function": root.function,
        "types": list(root.types),
        "rule": root.rule,
        "rulePlace": root.rule_place,
        "place": root.place,
        "count": root.count,
        "note": root.note,
        "children": [to_json(child) for child in root.children],
    }
    if root.hidden:
        made["hidden"] = root.hidden
    return made
