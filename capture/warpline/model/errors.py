"""The errors Warpline raises on purpose.

Each message is one line that says what happened, to which file or process, and what to do next. The command
line prints it and exits; the window shows it in a bar. Any other exception is a defect.
"""

from __future__ import annotations

from warpline.untrusted import one_line

_BEGIN, _END = 600, 200
"""Characters shown of the beginning and the end of a long message."""


class WarplineError(Exception):
    """Base of every error a user may see; as text it is one line of a readable length, whatever paths and names are in
    its message.
    """

    def __str__(self) -> str:
        text = one_line(super().__str__())
        return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN]} … {text[-_END:]}"


class UsageError(WarplineError):
    """The request itself is invalid, such as a bad range or an unknown report name."""


class NotRecordedError(WarplineError):
    """What was asked for was not recorded; the message says how to record it."""


class CaptureFormatError(WarplineError):
    """A file is not a capture, is damaged, or is of a version this Warpline does not read."""


class CaptureVersionError(CaptureFormatError):
    """A capture of a version of the format that this Warpline does not read."""


class ImportFormatError(WarplineError):
    """A file of another profiler cannot be read."""


class ExportError(WarplineError):
    """A capture cannot be written in the format asked for."""


class RecordingError(WarplineError):
    """Recording could not be started or finished."""


class StorageError(WarplineError):
    """A capture cannot be written: no space, no permission, an inconsistent batch."""


class Cancelled(WarplineError):
    """Long work was cancelled by the person who started it."""
