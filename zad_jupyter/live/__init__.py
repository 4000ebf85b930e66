"""Live: files change while Python goes on, and the next gradient follows them.

Seeing that a file changed (files only: no modules, no rules): `files` (is its content another?), `watcher` (when is it
worth asking?), `ways`, `threads`. Executing a module again (no rules): `execute` (on trial, then for good or not at
all), `pairs` (which old object becomes which new one), `patch` and `classes` (how), `translation` (what else is new
speaks of the old ones), `report` (what changed), `importers` (who else holds it), `same`, `interrupt`.
Both together, with rules and gradients: `sources` (whose files), `loading` (a batch, whole or not at all), `engine`
(when), `changes` (what became of it).
"""

from .changes import Changes, Event
from .engine import Live, current, set_current, watch

__all__ = ["Changes", "Event", "Live", "current", "set_current", "watch"]
