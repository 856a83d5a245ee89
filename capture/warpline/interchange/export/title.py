"""What a capture is called where it goes: as the file that a person opened, not as what it was converted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr_n

if TYPE_CHECKING:
    from warpline.storage import Capture


def title_of(capture: Capture) -> str:
    """The name of the capture's file; of one in the cache of conversions, the name of the trace it was made of."""
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
