"""Columns of the events that PyTorch's profiler (Kineto) writes. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from warpline.interchange.framework.columns import NO_INTEGER, Coder, distinct_rows
from warpline.interchange.torch.args import (
    AnnotationArgs,
    ApiArgs,
    GpuArgs,
    MemoryArgs,
    NoArgs,
    OperatorArgs,
    PythonArgs,
)
from warpline.interchange.torch.cpu import (
    CALL,
    SLICE,
    STATE,
    SchedulingArgs,
    WaitArgs,
    extract_scheduling,
    fill_scheduling,
    fill_waits,
)
from warpline.interchange.trace_json.arguments import (
    Arguments,
    decode_args,
    either,
    none_as_number,
    number_in,
    process_numbers,
)
from warpline.interchange.trace_json.piece_columns import (
    GENERIC_EXTRACTORS,
    INSTANTS,
    Extractor,
    Group,
    Loss,
    extract_points,
    generic_route,
    points,
    spans,
)
from warpline.interchange.trace_json.trace_format import Filler, TraceFormat

KERNEL, MEMCPY, MEMSET, SYNC = "kernel", "memcpy", "memset", "sync"
GPU_ANNOTATION, GPU_OTHER = "gpu_annotation", "gpu_event"
API, OPERATOR, ANNOTATION, PYTHON = "cuda_api", "operator", "annotation", "python"
MEMORY, OVERHEAD, PROFILER, PHASE = "memory", "overhead", "profiler", "phase"
DIAGNOSTIC = "diagnostic"

ROUTES: Mapping[str, str] = {
    "kernel": KERNEL,
    "gpu_memcpy": MEMCPY,
    "memcpy": MEMCPY,
    "gpu_memset": MEMSET,
    "memset": MEMSET,
    "cuda_sync": SYNC,
    "gpu_user_annotation": GPU_ANNOTATION,
    "runtime": API,
    "driver": API,
    "operator": OPERATOR,
    "cpu_op": OPERATOR,
    "user_annotation": ANNOTATION,
    "python_function": PYTHON,
    "pythonfunction": PYTHON,
    "overhead": OVERHEAD,
    "trace": PROFILER,
    STATE: STATE,
    SLICE: SLICE,
    CALL: CALL,
    **dict.fromkeys(("profilestep", "dataloader", "forward", "backward", "optimization"), PHASE),
}
"""Group of complete events by lower-case category, with older spellings."""
_API_CATEGORY = re.compile(r".*_(runtime|driver)")
LAUNCH_FLOWS = frozenset({"ac2g", "async", "async_cpu_to_gpu"})
"""Categories of arrows that repeat GPU correlation ids."""
CLAIMED = "launch flows"
MEMORY_NAME = "[memory]"

GPU_GROUPS = frozenset({KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION, GPU_OTHER})


def torch_route(phase: str, category: str) -> str:
    """The group of an event of a Kineto trace."""
    if phase in "stf" and phase and category.lower() in LAUNCH_FLOWS:
        return CLAIMED
    return _route_with_arrows(phase, category)


def _route_with_arrows(phase: str, category: str) -> str:
    """Like `torch_route`, for traces whose launches only have arrows."""
    lower = category.lower()
    if phase == "X":
        group = ROUTES.get(lower)
        if group is None and _API_CATEGORY.fullmatch(lower):
            return API
        if group is not None:
            return group
    return generic_route(phase, category)


_GPU_INTEGERS = (
    "bytes", "registers", "shared", "queued", "priority", "graph", "graph_node", "stream", "event", "external", "value",
    "wait_on_stream", "recorded_by", "copy_kind", "src_kind", "dst_kind", "memory_kind",
)  # fmt: skip


def extract_gpu(rows: list[Any], losses: Counter[Loss]) -> Group:
    """GPU work; see `fill_gpu`."""
    rows, group = spans(rows, losses, bare=True)
    group.numbers["pid"] = process_numbers([row.pid for row in rows])
    group.numbers["tid"] = process_numbers([row.tid for row in rows])
    args = decode_args(rows, GpuArgs, losses)
    if not fill_gpu(group, args):
        group.thread, places = _places_by_track(rows, args.values)
        group.places = _places(places)
    return group


def fill_gpu(group: Group, args: Arguments) -> bool:
    """Add place (device, context, stream), correlation id and other arguments.

    ``thread`` then holds codes into ``places``. False when an event lacks its device or stream.
    """
    numbers = group.numbers
    numbers["correlation"] = either(args, "correlation", "correlation_paddle")
    for name in _GPU_INTEGERS:
        if args.has(name):
            numbers[name] = args.integers(name)
    for name in ("blocks", "warps", "occupancy", "occupancy_paddle", "bandwidth", "occupancy_ratio"):
        if args.has(name):
            numbers[name.removesuffix("_paddle")] = args.floats(name)
    for name in ("grid", "block"):
        if args.has(name):
            shape = args.triples(name)
            for axis, letter in enumerate("xyz"):
                numbers[f"{name}_{letter}"] = np.ma.MaskedArray(shape[:, axis], shape[:, axis] == NO_INTEGER)
    group.texts["sync_kind"] = args.texts("sync_kind")
    group.texts["payload"] = args.rest()
    columns = [args.integers(name).filled(NO_INTEGER) for name in ("device", "context", "stream")]
    places, codes = distinct_rows(*columns)
    group.thread = codes.astype(np.uint32)
    group.places = _places(places)
    return not any(device is None or stream is None for device, _context, stream in group.places)


def _places(numbers: Iterable[tuple[int, ...]]) -> list[tuple[int | None, int | None, int | None]]:
    return [
        (*(None if number == NO_INTEGER else number for number in place),)  # type: ignore[misc]  # three of them
        for place in numbers
    ]


def _places_by_track(rows: Sequence[Any], args: Sequence[Any]) -> tuple[Any, Coder]:
    """Takes a device or stream that the arguments lack from the pid and tid."""
    places = Coder()
    codes = [
        places[
            none_as_number(number_in(row.pid)) if arg.device == NO_INTEGER else arg.device,
            arg.context,
            none_as_number(number_in(row.tid)) if arg.stream == NO_INTEGER else arg.stream,
        ]
        for row, arg in zip(rows, args, strict=True)
    ]
    return np.array(codes, np.uint32), places


def _extractor(args_type: type[Any], fill: Callable[[Group, Arguments], bool]) -> Extractor:
    def extract(rows: list[Any], losses: Counter[Loss]) -> Group:
        rows, group = spans(rows, losses)
        fill(group, decode_args(rows, args_type, losses))
        return group

    return extract


def fill_api(group: Group, args: Arguments) -> bool:
    """Add the arguments of runtime and driver calls."""
    group.numbers["correlation"] = either(args, "correlation", "correlation_paddle")
    group.numbers["callback"] = either(args, "cbid", "cid")
    if args.has("external"):
        group.numbers["external"] = args.integers("external")
    group.texts["payload"] = args.rest()
    return True


def fill_annotations(group: Group, args: Arguments) -> bool:
    """Add the arguments of user annotations."""
    group.numbers["external"] = either(args, "external", "external_old")
    group.numbers["index"] = either(args, "index", "index_old")
    group.numbers["function"] = args.integers("function")
    group.texts["payload"] = args.rest()
    return True


def fill_operators(group: Group, args: Arguments) -> bool:
    """Add the arguments of operators: shapes, sequence numbers, stacks."""
    fill_annotations(group, args)
    # Kineto writes -1 for none.
    group.numbers["sequence"] = np.ma.masked_less(args.integers("sequence"), 0)
    group.numbers["forward"] = args.integers("forward")
    for name in ("shapes", "types", "inputs"):
        group.texts[name] = args.json_texts(name)
    group.texts["stack"] = args.texts("stack")
    return True


def fill_python(group: Group, args: Arguments) -> bool:
    """Add the ids of Python functions and their callers."""
    group.numbers["own"] = args.integers("own")
    group.numbers["parent"] = args.integers("parent")
    group.numbers["module"] = args.integers("module")
    group.numbers["index"] = args.integers("index")
    group.texts["payload"] = args.rest()
    return True


def fill_plain(group: Group, args: Arguments) -> bool:
    """Add all arguments as payload."""
    group.texts["payload"] = args.rest()
    return True


def fill_memory(group: Group, args: Arguments) -> bool:
    """Add sizes, addresses, totals and devices of allocations."""
    for name in ("reserved", "allocated", "size", "address", "device", "device_type", "index"):
        group.numbers[name] = args.integers(name)
    group.texts["payload"] = args.rest()
    return True


def extract_instants(rows: list[Any], losses: Counter[Loss]) -> dict[str, Group]:
    """Instants; allocations get a group of their own."""
    groups: dict[str, Group] = {}
    memory = [row for row in rows if row.name == MEMORY_NAME]
    if memory:
        memory, group = points(memory, losses)
        fill_memory(group, decode_args(memory, MemoryArgs, losses))
        groups[MEMORY] = group
    if len(memory) < len(rows):
        groups[INSTANTS] = extract_points([row for row in rows if row.name != MEMORY_NAME], losses)
    return groups


FILLERS: Mapping[str, Filler] = {
    **dict.fromkeys((KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION), Filler(GpuArgs, fill_gpu)),
    API: Filler(ApiArgs, fill_api),
    OPERATOR: Filler(OperatorArgs, fill_operators),
    ANNOTATION: Filler(AnnotationArgs, fill_annotations),
    PYTHON: Filler(PythonArgs, fill_python),
    MEMORY: Filler(MemoryArgs, fill_memory),
    **dict.fromkeys((OVERHEAD, PROFILER, PHASE), Filler(NoArgs, fill_plain)),
    SLICE: Filler(SchedulingArgs, fill_scheduling),
    **dict.fromkeys((STATE, CALL), Filler(WaitArgs, fill_waits)),
}

TORCH_EXTRACTORS: Mapping[str, Extractor] = {
    **GENERIC_EXTRACTORS,
    **dict.fromkeys(GPU_GROUPS, extract_gpu),
    API: _extractor(ApiArgs, fill_api),
    OPERATOR: _extractor(OperatorArgs, fill_operators),
    ANNOTATION: _extractor(AnnotationArgs, fill_annotations),
    PYTHON: _extractor(PythonArgs, fill_python),
    **dict.fromkeys((OVERHEAD, PROFILER, PHASE), _extractor(NoArgs, fill_plain)),
    INSTANTS: extract_instants,
    **dict.fromkeys((STATE, SLICE, CALL), extract_scheduling),
}

TORCH = TraceFormat(
    route=torch_route,
    extractors=TORCH_EXTRACTORS,
    claimed=frozenset({CLAIMED}),
    fillers=FILLERS,
    of_gpu=GPU_GROUPS,
    points=frozenset({MEMORY}),
    named_instants={MEMORY_NAME: MEMORY},
)
"""Traces of PyTorch's profiler."""
TORCH_WITH_ARROWS = replace(TORCH, route=_route_with_arrows, claimed=frozenset())
"""For accelerators (MTIA) without correlation ids, where only arrows link launches to work."""
