"""Imports traces of other profilers and exports captures, one folder per format."""

from warpline.interchange.framework.detection import detect
from warpline.interchange.framework.importer import Importer, ImportOptions, ImportSummary
from warpline.interchange.framework.importing import import_files
from warpline.interchange.joining.recording import is_capture, join_files

__all__ = [
    "ImportOptions",
    "ImportSummary",
    "Importer",
    "detect",
    "import_files",
    "is_capture",
    "join_files",
]
