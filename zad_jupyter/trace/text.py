"""The tree as text: for a terminal, a test, or a mail.

    recursed   loss(ndarray)                                cell 4:1
    ├ hit        np.tanh(ndarray)  ×12   shipped              cell 4:6
    └ opted out  det(Tri)                (a: Tri) at cell 6:1  cell 4:5

Three columns: the call and its outcome, the rule that decided, and where the call stands.
"""

from __future__ import annotations

from zad_jupyter.trace.tree import OUTCOMES, Node

_WORD = max(len(word) for _, word in OUTCOMES.values())
_WIDEST = 72  # a column wider than this would push the others off the screen


def text(root: Node) -> str:
    """The tree as lines of text, without trailing spaces.

    Example:
        >>> print(text(Node("hit", "sin", ("float",), "sin(x: float)", "(x: float)", "shipped", "cell 2:1", 1)))
        hit        sin(float)   shipped   cell 2:1
    """
    rows: list[tuple[str, str, str, str]] = []
    _rows(root, "", "", rows)
    first = min(_WIDEST, max(len(row[0]) for row in rows))
    second = min(_WIDEST, max(len(row[1]) for row in rows))
    lines = []
    for call, chosen, place, note in rows:
        line = f"{call:<{first}}   {chosen:<{second}}   {place}" if second else f"{call:<{first}}   {place}"
        lines.append((line.rstrip() + (f"   — {note}" if note else "")).rstrip())
    return "\n".join(lines)


def _rows(node: Node, branch: str, below: str, rows: list[tuple[str, str, str, str]]) -> None:
    word = OUTCOMES.get(node.outcome, ("", node.outcome))[1]
    call = f"{branch}{word:<{_WORD}}  {node.call}" + (f"  {node.times}" if node.times else "")
    note = node.note.strip().splitlines()
    rows.append((call, node.chosen, node.place or "", note[0] if note else ""))
    last = len(node.children) - 1
    for index, child in enumerate(node.children):
        end = index == last and not node.hidden
        _rows(child, below + ("└ " if end else "├ "), below + ("  " if end else "│ "), rows)
    if node.hidden:
        rows.append((f"{below}└ … {node.hidden} more calls", "", "", ""))
