"""What is different in a file of version 0, from before the format was finished.

Version 1 names the type of stacks, has attributes of tracks and allows to leave tables out; everything else lies where
it lay. This module goes when files of version 0 are to be refused.
"""

from __future__ import annotations

from warpline.storage.columns.mapped_file import MappedFile


def attribute_type(file: MappedFile, name: str, stored: str) -> str:
    """The type of an event attribute under version 1's rules. In version 0, only its name marked a stack."""
    return "stack" if file.version == 0 and name == "stack" and stored == "uint32" else stored
