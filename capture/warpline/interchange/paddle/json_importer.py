"""Importer for Paddle's Chrome JSON traces."""

from __future__ import annotations

import re
from pathlib import Path

from warpline.i18n import english
from warpline.interchange.framework.importer import CERTAIN
from warpline.interchange.paddle.columns import PADDLE
from warpline.interchange.paddle.converter import PaddleConverter
from warpline.interchange.torch.torch_importer import WARPLINE_MARK
from warpline.interchange.trace_json.importing import TraceImporter, is_trace_json

_MARKS = re.compile(
    rb'"cat"\s*:\s*"(?:ProfileStep|PythonUserDefined|DygraphKernelLaunch|OperatorInner|Dataloader)"|"span_indx"\s*:'
)


class PaddleImporter(TraceImporter):
    """The JSON that ``paddle.profiler.export_chrome_tracing`` writes."""

    name = "paddle"
    title = english("Paddle profiler trace")
    patterns = ("*.paddle_trace.json", "*.paddle_trace.json.gz", "*.json", "*.json.gz")
    position = 20
    form = PADDLE
    converter = PaddleConverter

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if not is_trace_json(head) or WARPLINE_MARK.search(head):
            return 0.0
        return CERTAIN if _MARKS.search(head) else 0.0


importer = PaddleImporter()
