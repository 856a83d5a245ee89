"""The base class of importers for Chrome JSON formats."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.reader import read_trace
from warpline.interchange.trace_json.trace_format import TraceFormat
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_LOOKS_LIKE_EVENT = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),=]"')


def is_trace_json(head: bytes) -> bool:
    """Whether the beginning of a file looks like Chrome JSON: an array of events, or an object with one."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"[":
        rest = start[1:].lstrip()
        return rest[:1] in (b"", b"]") or (rest[:1] == b"{" and _LOOKS_LIKE_EVENT.search(start) is not None)
    return start[:1] == b"{" and (b'"traceEvents"' in head or _LOOKS_LIKE_EVENT.search(start) is not None)


class TraceImporter:
    """Reads a trace of ``form`` with ``converter``. A subclass adds how to recognise the format."""

    form: ClassVar[TraceFormat]
    converter: ClassVar[type[TraceConverter]]

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        converter = self.converter(builder, options)
        state = read_trace(path, converter, self.form_of(path), progress, cancelled)
        return converter.finish(state)

    def form_of(self, path: Path) -> TraceFormat:
        """The format of a file; override if the importer has several."""
        del path
        return self.form
