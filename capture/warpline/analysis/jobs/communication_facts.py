"""Reads from a trace which operation a communication kernel is, among which ranks, and how many bytes it moves."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from typing import Any

import orjson

from warpline.i18n import english

OPERATIONS = {
    "all_reduce": english("all-reduce"),
    "all_gather": english("all-gather"),
    "reduce_scatter": english("reduce-scatter"),
    "all_to_all": english("all-to-all"),
    "barrier": english("barrier"),
    "broadcast": english("broadcast"),
    "reduce": english("reduce"),
    "gather": english("gather"),
    "scatter": english("scatter"),
    "send_recv": english("send and receive"),
    "other": english("other communication"),
}
"""Titles of operations."""
JOINT = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
"""Operations that no rank leaves before all have arrived."""
_BY_NAME = (
    ("all_reduce", r"all_?reduce|cross_device_reduce|quick_?reduce"),
    ("all_gather", r"all_?gather"),
    ("reduce_scatter", r"reduce_?scatter"),
    ("all_to_all", r"all_?to_?all|all2all|a2a"),
    ("send_recv", r"send|recv|receive"),
    ("broadcast", r"broadcast"),
    ("barrier", r"barrier|sync_all"),
    ("reduce", r"reduce"),
    ("gather", r"gather"),
    ("scatter", r"scatter"),
)
_PATTERNS = tuple((operation, re.compile(text, re.IGNORECASE)) for operation, text in _BY_NAME)
_HCCL = re.compile(r"^hcom_([a-zA-Z]+)__(\d+)_\d+_\d+$")
"""Ascend's collectives: ``hcom_allReduce__586_0_1`` is the first of the communicator whose number ends in 586."""
_ELEMENT_BYTES = {
    "double": 8, "long": 8, "int64": 8, "uint64": 8, "fp64": 8, "complexfloat": 8, "float64": 8,
    "float": 4, "int": 4, "float32": 4, "fp32": 4, "int32": 4, "uint32": 4,
    "half": 2, "bfloat16": 2, "short": 2, "float16": 2, "fp16": 2, "bf16": 2, "bfp16": 2, "int16": 2, "uint16": 2,
    "byte": 1, "char": 1, "bool": 1, "int8": 1, "uint8": 1, "complexdouble": 16,
}  # fmt: skip
_MOST_RANKS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class CommunicationFacts:
    """One kind of communication of a rank; unknown values are empty or 0.

    ``group`` is the name of its communicator, ``description`` its purpose, ``ranks`` its members as text, ``size``
    their number. ``bytes`` is the size as nccl-tests counts it: of everything gathered or scattered. ``name`` is the
    kernel's, used when the group is unknown.
    """

    operation: str
    group: str = ""
    description: str = ""
    ranks: str = ""
    size: int = 0
    bytes: int = 0
    name: str = ""

    @property
    def is_joint(self) -> bool:
        """Whether no rank leaves before all have arrived."""
        return self.operation in JOINT

    def text(self) -> str:
        """The facts as text, equal for the same communication on other ranks."""
        return orjson.dumps(astuple(self)).decode()

    @property
    def communicator(self) -> tuple[str, str, str]:
        """Name, purpose and ranks of the communicator."""
        return self.group, self.description, self.ranks


@lru_cache(1 << 14)
def facts_of_text(text: str) -> CommunicationFacts:
    """The facts from `CommunicationFacts.text`."""
    names = [item.name for item in fields(CommunicationFacts)]
    return CommunicationFacts(**dict(zip(names, orjson.loads(text), strict=True)))


def communication_facts(name: str, payload: str | None) -> CommunicationFacts:
    """The facts from a kernel's name and its arguments (JSON text).

    The arguments are those of PyTorch's profiler (torch/csrc/distributed/c10d/ParamCommsUtils.hpp: *Collective name*,
    *In msg nelems*, *dtype*, *Process Group Name* …) and of Ascend's (*count*, *data_type*).
    """
    arguments = _object(payload)
    operation = _operation(str(arguments.get("Collective name", "")) or name)
    hccl = _HCCL.match(name)
    if hccl is not None:
        size = _number(arguments.get("count")) * _element_bytes(arguments.get("data_type"))
        return CommunicationFacts(operation=_operation(hccl[1]), group=hccl[2], bytes=size)
    group = arguments.get("Process Group Name")
    if not isinstance(group, str):
        return CommunicationFacts(operation=operation, name=name)
    elements = max(_number(arguments.get("In msg nelems")), _number(arguments.get("Out msg nelems")))
    # In an exchange of uneven parts each rank has its own size, which would prevent a match.
    is_uneven = operation == "all_to_all" and str(arguments.get("In split size", "[]")) not in ("[]", "")
    return CommunicationFacts(
        operation=operation,
        group=group,
        description=str(arguments.get("Process Group Description", "")),
        ranks=str(arguments.get("Process Group Ranks", "")),
        size=_number(arguments.get("Group size")),
        bytes=0 if is_uneven else elements * _element_bytes(arguments.get("dtype")),
    )


def ranks_of_text(text: str) -> tuple[int, ...]:
    """The ranks in a text such as ``[0, 1]``; empty when it is abbreviated."""
    inner = text.strip().removeprefix("[").removesuffix("]")
    parts = [part.strip() for part in inner.split(",")]
    if not all(part.isdecimal() and len(part) < 10 for part in parts) or len(parts) > _MOST_RANKS:
        return ()
    return tuple(map(int, parts))


def bus_factor(operation: str, size: int) -> float | None:
    """The factor from algorithm bandwidth to bus bandwidth, which compares with that of the links.

    The factors are those of NVIDIA's nccl-tests (doc/PERFORMANCE.md): 2 (n − 1) / n for all-reduce, (n − 1) / n for
    all-gather, reduce-scatter and all-to-all, 1 for broadcast, reduce, and send and receive. None for others.
    """
    if size < 2:
        return None
    if operation == "all_reduce":
        return 2 * (size - 1) / size
    if operation in ("all_gather", "reduce_scatter", "all_to_all"):
        return (size - 1) / size
    return 1.0 if operation in ("broadcast", "reduce", "send_recv") else None


_KINDS = (
    ("tensor", r"tensor|(^|[_\W])tp([_\W]|$)|model.?parallel"),
    ("pipeline", r"pipeline|(^|[_\W])pp([_\W]|$)|embedding"),
    ("context", r"context|sequence|(^|[_\W])(cp|sp)([_\W]|$)"),
    ("expert", r"expert|moe|(^|[_\W])ep([_\W]|$)"),
    ("data", r"data|fsdp|zero|(^|[_\W])d?dp([_\W]|$)|replicate|shard"),
    ("all", r"default_pg|world"),
)
_KIND_PATTERNS = tuple((kind, re.compile(text, re.IGNORECASE)) for kind, text in _KINDS)
GROUP_KINDS = {
    "tensor": english("tensor parallel"),
    "pipeline": english("pipeline parallel"),
    "context": english("context parallel"),
    "expert": english("expert parallel"),
    "data": english("data parallel"),
    "all": english("all ranks"),
}
"""Titles of the purposes of communicators."""


@lru_cache(1 << 12)
def kind_of_group(description: str) -> str:
    """The purpose of a communicator by its description, a key of `GROUP_KINDS`; empty when unknown.

    Megatron, DeepSpeed and PyTorch's device meshes write ``mesh_tp``, ``PIPELINE_MODEL_PARALLEL_GROUP`` or
    ``default_pg``.
    """
    text = re.sub("(?i)model_?parallel_?(group)?", "", description) or description
    return next((kind for kind, pattern in _KIND_PATTERNS if pattern.search(text)), "")


def _operation(text: str) -> str:
    return next((operation for operation, pattern in _PATTERNS if pattern.search(text)), "other")


def _object(payload: str | None) -> dict[str, Any]:
    if not payload:
        return {}
    try:
        content = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else 0


def _element_bytes(dtype: Any) -> int:
    text = str(dtype).lower()
    return 1 if text.startswith("float8") else _ELEMENT_BYTES.get(text, 0)
