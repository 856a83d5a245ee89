"""The differences of format version 0, used before the format was finished.

Version 1 added a type for stacks, attributes of tracks and optional tables; the rest is unchanged. Delete this module
once files of version 0 may be refused.
"""

from __future__ import annotations

from warpline.storage.columns.column_source import CaptureFile


def attribute_type(file: CaptureFile, name: str, stored: str) -> str:
    """The type of an event attribute under version 1's rules. In version 0, only its name marked a stack."""
    return "stack" if file.version == 0 and name == "stack" and stored == "uint32" else stored
