"""Importer for Chrome and Perfetto JSON traces of any origin."""

from __future__ import annotations

from pathlib import Path

from warpline.i18n import english
from warpline.interchange.framework.importer import POSSIBLE
from warpline.interchange.trace_json.device_converter import DeviceTraceConverter
from warpline.interchange.trace_json.importing import TraceImporter, is_trace_json
from warpline.interchange.trace_json.trace_format import CHROME


class ChromeImporter(TraceImporter):
    """Traces that no more specific importer recognises."""

    name = "chrome"
    title = english("Chrome or Perfetto JSON trace")
    patterns = ("*.json", "*.json.gz", "*.json.zip", "*.trace")
    position = 40
    form = CHROME
    converter = DeviceTraceConverter

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        return POSSIBLE if is_trace_json(head) else 0.0


importer = ChromeImporter()
