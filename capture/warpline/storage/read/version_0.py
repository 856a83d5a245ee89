"""What is different in a file of version 0, from before the format was finished.

Version 1 names the type of stacks, has attributes of tracks and allows to leave tables out; everything else lies where
it lay. This module goes when files of version 0 are to be refused.
"""

from __future__ import annotations

from warpline.storage.columns.mapped_file import MappedFile


def attribute_type(file: MappedFile, name: str, stored: str) -> str:
    """Type of an attribute of events by the rules of version 1: stacks were known by their name alone."""
    return "stack" if file.version == 0 and name == "stack" and stored == "uint32" else stored
