"""The tree as HTML: ``<details>`` elements and nothing else that could be taken away.

No JavaScript and no style sheet: the same tree folds in JupyterLab, in a page made by nbconvert, and on GitHub,
where even the inline styles are stripped and the words alone must do. Everything from the user is escaped.
"""

from __future__ import annotations

from html import escape

from zad_jupyter.trace.tree import OUTCOMES, Node, summary

# Lab's theme variables where there are any, a colour that reads on white and on black where there are none.
_COLOURS = {
    "hit": "var(--jp-success-color1, #2a8a4a)",
    "opted-out": "var(--jp-warn-color1, #c07a12)",
    "recursed": "var(--jp-info-color1, #3a78d0)",
    "inactive": "inherit",
    "error": "var(--jp-error-color1, #d0393e)",
}
_INDENT = "margin-left:1.4em"
_QUIET = "opacity:.65"
#: levels that are open at first, and the size up to which they are
_OPEN_LEVELS = 4
_OPEN_NODES = 120


def html(root: Node, title: str = "", footer: str = "") -> str:
    """The tree as one HTML fragment.

    Arguments:
        root: the tree.
        title: plain text in front of the counts, such as ``gradient(loss)``.
        footer: plain text under the tree, such as an error's message.

    Returns:
        A self-contained ``<div>``.
    """
    small = sum(1 for _ in root.walk()) <= _OPEN_NODES
    head = " · ".join(part for part in (title, summary(root)) if part)
    parts = ['<div class="zad-tree" style="font-size:13px;line-height:1.6">']
    parts.append(f'<div style="{_QUIET}">{escape(head)}</div>')
    _element(root, 0, _OPEN_LEVELS if small else 1, parts)
    if footer:
        parts.append(f'<pre style="white-space:pre-wrap;margin:.4em 0 0">{escape(footer)}</pre>')
    parts.append("</div>")
    return "".join(parts)


def _element(node: Node, level: int, open_levels: int, parts: list[str]) -> None:
    indent = f' style="{_INDENT}"' if level else ""
    if not (node.children or node.hidden):
        # As far to the right as the text behind the siblings' triangles.
        parts.append(f'<div style="margin-left:{2.4 if level else 1}em">{_row(node)}</div>')
        return
    parts.append(f"<details{' open' if level < open_levels else ''}{indent}><summary>{_row(node)}</summary>")
    for child in node.children:
        _element(child, level + 1, open_levels, parts)
    if node.hidden:
        parts.append(f'<div style="margin-left:2.4em;{_QUIET}">… {node.hidden} more calls</div>')
    parts.append("</details>")


def _row(node: Node) -> str:
    icon, word = OUTCOMES.get(node.outcome, ("", node.outcome))
    colour = _COLOURS.get(node.outcome, "inherit")
    pieces = [
        f'<b style="color:{colour}">{icon} {escape(word)}</b>',
        f"<code>{escape(node.function)}</code><code style=\"{_QUIET}\">({escape(', '.join(node.types))})</code>",
    ]
    if node.times:
        pieces.append(f"<span>{node.times}</span>")
    quiet = [part for part in (node.chosen, node.place) if part]
    if quiet:
        pieces.append(f'<span style="{_QUIET}">&nbsp;{escape(" · ".join(quiet))}</span>')
    note = node.note.strip().splitlines()
    if note:
        pieces.append(f"<i>— {escape(note[0])}</i>")
    return " ".join(pieces)
