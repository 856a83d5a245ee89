"""What a source of a capture is called in the window."""

from __future__ import annotations

from warpline.i18n import translated


def source_title(name: str) -> str:
    """The words for a source of a capture, by the name it has there; that of an importer stays."""
    from warpline.recording.sources import registry  # lists every source, so only when one is needed

    return translated(registry.source_title(name))
