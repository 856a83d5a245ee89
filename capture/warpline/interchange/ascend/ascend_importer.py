"""Importer for Huawei's Ascend profiler (``trace_view.json`` of torch_npu, MindSpore and msprof)."""

from __future__ import annotations

from pathlib import Path

from warpline.i18n import english
from warpline.interchange.ascend.converter import AscendConverter
from warpline.interchange.framework.importer import CERTAIN, NO
from warpline.interchange.torch.columns import TORCH
from warpline.interchange.torch.torch_importer import ASCEND_MARK, WARPLINE_MARK
from warpline.interchange.trace_json.importing import TraceImporter, is_trace_json


class AscendImporter(TraceImporter):
    """The JSON that Ascend's profilers export, which contains PyTorch's own events."""

    name = "ascend"
    title = english("Ascend profiler trace")
    patterns = ("*trace_view.json", "*msprof*.json", "*.json", "*.json.gz")
    position = 25
    form = TORCH
    converter = AscendConverter

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if not is_trace_json(head) or WARPLINE_MARK.search(head):
            return NO
        return CERTAIN if ASCEND_MARK.search(head) else NO


importer = AscendImporter()
