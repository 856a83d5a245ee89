"""The title of an exported capture: the file that the user opened, not its converted copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr_n

if TYPE_CHECKING:
    from warpline.storage import Capture


def title_of(capture: Capture) -> str:
    """The name of the capture's file; for a cached conversion, the name of the trace."""
    from warpline.storage import ConversionCache

    files = capture.meta.get("imported_from")
    if not isinstance(files, list) or not files or not ConversionCache().holds(capture.path):
        return capture.path.name
    first = files[0]
    name = str(first.get("file", "")) if isinstance(first, dict) else ""
    if not name:
        return capture.path.name
    return (
        name
        if len(files) == 1
        else f"{name} {tr_n('and {count:,} more', 'and {count:,} more', len(files) - 1)}"
    )
