"""Recognises communication by name: kernels that move data between GPUs, and the calls on the host that start them.

The timeline's colours and the reports share it, so that they agree.
"""

from __future__ import annotations

import re
from functools import lru_cache

KERNEL_PATTERNS: tuple[tuple[str, str], ...] = (
    ("NCCL, RCCL, HCCL", r"[nrh]ccl|hcom_?(all|reduce|broadcast|send|rec|scatter|gather|barrier|batch)"),
    ("oneCCL", r"one_?ccl|oneapi::ccl"),
    ("MSCCL, MSCCL++", r"msccl"),
    ("NVSHMEM, rocSHMEM", r"(nv|roc)_?shmem|(barrier|sync_all|quiet|signal_\w+)_on_stream_kernel"),
    ("DeepEP, pplx, MORI: experts on other GPUs", r"deep_?ep|\bpplx\b|\bmori::|moe_?(a2a|all_?to_?all)"),
    ("vLLM, SGLang, AITER: custom all-reduce", r"cross_device_reduce|custom_?all_?reduce|quick_?reduce::"),
    ("Transformer Engine: user buffers", r"user_?buffers_"),
    # TensorRT-LLM, FlashInfer, PyTorch's symmetric memory and others write kernels of their own. A reduction over a
    # warp or a block that gives every thread the result has "all" in its name too, and stays on its GPU.
    (
        "collectives by name",
        r"(?<!warp)(?<!warp_)(?<!block)(?<!block_)(?<!thread)(?<!cta)(?<!wave)all_?reduce",
    ),
    ("", r"all_?gather|reduce_?scatter|all_?(to|2)_?all|collective_?permute|send_?recv"),
)
"""Patterns of names of communication kernels, by library."""

CALLS = r"^(nccl|rccl|hccl|hcom|c10d|gloo|oneccl)[:_]|^hccl\w|^record_param_comms"
"""Names of ranges and operators of communication in programs and frameworks."""

COMMUNICATION = re.compile("|".join(pattern for _, pattern in KERNEL_PATTERNS), re.IGNORECASE)
COMMUNICATION_CALL = re.compile(CALLS, re.IGNORECASE)


@lru_cache(1 << 16)
def is_communication(name: str) -> bool:
    """Whether a kernel of this (full or mangled) name moves data between GPUs."""
    return COMMUNICATION.search(name) is not None


_POINT_TO_POINT = re.compile(r"send|recv", re.IGNORECASE)


def is_point_to_point(name: str) -> bool:
    """Whether communication of this name is between two ranks only."""
    return _POINT_TO_POINT.search(name) is not None
