"""Importer for PyTorch's profiler (Kineto): NVIDIA and AMD GPUs, or CPU only."""

from __future__ import annotations

import re
from pathlib import Path

from warpline.i18n import english
from warpline.interchange.framework.detection import read_head
from warpline.interchange.framework.importer import CERTAIN, LIKELY
from warpline.interchange.torch.columns import TORCH, TORCH_WITH_ARROWS
from warpline.interchange.torch.converter import TorchConverter
from warpline.interchange.trace_json.importing import TraceImporter, is_trace_json
from warpline.interchange.trace_json.trace_format import TraceFormat

_MARKS = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|cuda_runtime|hip_runtime|user_annotation|gpu_memcpy|gpu_user_annotation|python_function|'
    rb'Operator|Runtime)"|"deviceProperties"\s*:|"Ev Idx"\s*:|"computeProperties"\s*:|"baseTimeNanoseconds"'
)
WARPLINE_MARK = re.compile(rb'"warpline"\s*:\s*\{\s*"uuid"')
"""Warpline exports every capture in this format."""
ASCEND_MARK = re.compile(
    rb'"Ascend Hardware"|"enqueue_to_dequeue"|"torch_to_npu"|"(?:AscendCL|Dequeue)@|"name"\s*:\s*"torch_npu/'
)
"""Traces from an Ascend NPU have their own importer."""
_OWN_ARROWS = re.compile(rb'"launches_are_arrows"\s*:\s*true')
"""In Warpline's export of a trace whose correlation ids do not give its launches."""
_CORRELATED = re.compile(rb'"warpSize"\s*:|"cat"\s*:\s*"(?:cuda_runtime|cuda_driver|hip_runtime|Runtime)"')
"""GPUs of NVIDIA and AMD, whose correlation ids give the launches, so that arrows need not be read."""
_PADDLE_MARK = re.compile(rb'"cat"\s*:\s*"(?:ProfileStep|PythonUserDefined|DygraphKernelLaunch)"')


class TorchImporter(TraceImporter):
    """The JSON that ``torch.profiler`` exports."""

    name = "torch"
    title = english("PyTorch profiler (Kineto) trace")
    patterns = ("*.pt.trace.json", "*.pt.trace.json.gz", "*.json", "*.json.gz")
    position = 10
    form = TORCH
    converter = TorchConverter

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        if not is_trace_json(head):
            return 0.0
        if WARPLINE_MARK.search(head):
            return CERTAIN
        if _PADDLE_MARK.search(head) or ASCEND_MARK.search(head):
            return 0.0
        marks = set(_MARKS.findall(head))
        return CERTAIN if len(marks) > 1 else LIKELY if marks else 0.0

    def form_of(self, path: Path) -> TraceFormat:
        """See `TraceImporter.form_of`."""
        head = read_head(path)
        return TORCH if _CORRELATED.search(head) and not _OWN_ARROWS.search(head) else TORCH_WITH_ARROWS


importer = TorchImporter()
