"""Completion behind our magics: subcommands, options, names of rules, and callables as targets.

IPython completes the names of magics, not what stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

Matcher = Callable[[CompletionContext], dict[str, Any]]


def matcher(commands: Iterable[str], rules: Callable[[], Iterable[str]]) -> Matcher:
    """A matcher for IPython's completer.

    Arguments:
        commands: the subcommands of ``%zad``.
        rules: gives the names of the rules there are, for ``%zad on`` and ``%zad off``.
    """
    words = sorted(commands)

    @context_matcher(identifier="zad_jupyter")
    def zad_matcher(context: CompletionContext) -> dict[str, Any]:
        line = context.text_until_cursor.lstrip()
        magic, _, rest = line.partition(" ")
        found: list[str] = []
        if magic == "%zad" and line != magic:
            command, behind, argument = rest.lstrip().partition(" ")
            if not behind:
                found = [word for word in [*words, "-h"] if word.startswith(command)]
            elif command in ("on", "off"):
                found = _rest_of_names(rules(), argument.lstrip(), context.token)
            elif argument.startswith("-"):
                found = ["-h"]
        elif magic == "%%zad" and line != magic:
            found = [word for word in ("trace", "-h") if word.startswith(rest.strip())]
        elif magic == "%%rrule" and rest.strip().startswith("-"):
            found = [word for word in ("-h", "--help") if word.startswith(rest.strip())]
        return {"completions": [SimpleCompletion(text=word, type="zad") for word in found], "suppress": bool(found)}

    return zad_matcher  # type: ignore[no-any-return]


def _rest_of_names(names: Iterable[str], typed: str, token: str) -> list[str]:
    """The names that go on from what was typed, each from where the completer's token begins."""
    before = typed[: len(typed) - len(token)] if typed.endswith(token) else ""
    return [name[len(before) :] for name in sorted(set(names)) if name.startswith(typed)]
