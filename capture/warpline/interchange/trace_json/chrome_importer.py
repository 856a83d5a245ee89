"""Chrome and Perfetto JSON traces of any origin."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.importer import POSSIBLE, ImportOptions, ImportSummary
from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.reader import read_trace
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_LOOKS_LIKE_EVENT = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),=]"')


def is_trace_json(head: bytes) -> bool:
    """Whether the beginning of a file looks like the Chrome JSON format: an array or object of events."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"[":
        rest = start[1:].lstrip()
        return rest[:1] in (b"", b"]") or (rest[:1] == b"{" and _LOOKS_LIKE_EVENT.search(start) is not None)
    return start[:1] == b"{" and (b'"traceEvents"' in head or _LOOKS_LIKE_EVENT.search(start) is not None)


class ChromeImporter:
    """Importer for traces that no more specific format claims."""

    name = "chrome"
    title = english("Chrome or Perfetto JSON trace")
    patterns = ("*.json", "*.json.gz", "*.json.zip", "*.trace")

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        return POSSIBLE if is_trace_json(head) else 0.0

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        converter = TraceConverter(builder, options)
        state = read_trace(path, converter, self.name, progress, cancelled)
        return converter.finish(state)


importer = ChromeImporter()
