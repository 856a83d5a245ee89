"""Converts an Nsight Systems export, subject by subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpline.i18n import english, english_n, tr
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.nsys import api, counters, gpu_events, nvtx, samples, sched, session
from warpline.interchange.nsys.context import Context, Window
from warpline.interchange.nsys.devices import Devices
from warpline.interchange.nsys.gpu import GpuWork
from warpline.interchange.nsys.names import Names
from warpline.interchange.nsys.tables.access import TableFile
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_Convert = Callable[[Context, str], None]

# Tables that describe others or are read with them.
_SUPPORTING = (
    "StringIds",
    "ThreadNames",
    "PROCESSES",
    "ProcessStreams",
    "ANALYSIS_",
    "META_DATA_",
    "EXPORT_META_DATA",
    "TARGET_INFO_",
    "ENUM_",
    "UnwindMethodType",
    "SAMPLING_CALLCHAINS",
    "CUDA_CALLCHAINS",
    "OSRT_CALLCHAINS",
    "SYSCALL_CALLCHAINS",
    "NVTX_PAYLOAD_",
    "NVTX_SCOPES",
    "NVTX_EVENTS_PAYLOAD_SCHEMAS",
    "NIC_ID_MAP",
    "NET_IB_DEVICE_PORT_INFO",
    "MPI_RANKS",
    "GENERIC_EVENT_SOURCES",
    "GENERIC_EVENT_TYPE",
    "sqlite_",
)
_MOSTLY_OUTSIDE = 0.5
"""If events cover less than this share of the recording, the file is an excerpt …"""
_FIRST_CALLS = 1000
"""… unless it has the first CUDA calls of a process; then the GPU was just idle before and after."""


@dataclass(frozen=True)
class Subject:
    """Something Nsight Systems records: its name, its tables, the command that enables it, its converters."""

    name: str
    tables: tuple[str, ...]
    remedy: str
    converts: tuple[_Convert, ...]


def _subjects(context: Context) -> tuple[Subject, ...]:
    devices = Devices(context=context)
    gpu = GpuWork(context, devices, lambda: api.only_calling_process(context))

    def on_gpu(convert: Callable[[str], None]) -> tuple[_Convert, ...]:
        return (lambda _context, table: convert(table),)

    cuda = "nsys profile --trace=cuda"
    return (
        Subject(english("CUDA API calls"), ("CUPTI_ACTIVITY_KIND_RUNTIME",), cuda, (api.convert_cuda_api,)),
        Subject(english("kernels"), ("CUPTI_ACTIVITY_KIND_KERNEL",), cuda, on_gpu(gpu.kernels)),
        Subject(english("memory copies"), ("CUPTI_ACTIVITY_KIND_MEMCPY",), cuda, on_gpu(gpu.copies)),
        Subject(english("memory sets"), ("CUPTI_ACTIVITY_KIND_MEMSET",), cuda, on_gpu(gpu.sets)),
        Subject(
            english("CUDA graph launches"),
            ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",),
            "nsys profile --trace=cuda --cuda-graph-trace=graph",
            on_gpu(gpu.graphs),
        ),
        Subject(
            english("memory decompression"),
            ("CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS",),
            cuda,
            on_gpu(gpu.other_work("Memory decompression")),
        ),
        Subject(
            english("host nodes of CUDA graphs"),
            ("CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH",),
            cuda,
            on_gpu(gpu.other_work("Host node of a CUDA graph")),
        ),
        Subject(
            english("CUDA synchronisation"),
            ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",),
            cuda,
            on_gpu(gpu.synchronisations),
        ),
        Subject("NVTX", ("NVTX_EVENTS",), "nsys profile --trace=nvtx", (nvtx.convert_nvtx,)),
        Subject(
            english("scheduler"),
            ("SCHED_EVENTS",),
            "nsys profile --cpuctxsw=process-tree",
            (sched.convert_sched,),
        ),
        Subject(
            english("samples"),
            ("COMPOSITE_EVENTS",),
            "nsys profile --sample=process-tree",
            (samples.convert_samples,),
        ),
        _calls(english("OS runtime"), "nsys profile --trace=osrt", api.OSRT),
        _calls(english("system calls"), "nsys profile --trace=syscall", api.SYSCALL),
        _calls("cuDNN", "nsys profile --trace=cudnn", api.CUDNN),
        _calls("cuBLAS", "nsys profile --trace=cublas", api.CUBLAS),
        _calls(english("CUDA host callbacks"), cuda, api.HOST_CALLBACKS),
        _calls("MPI", "nsys profile --trace=mpi", api.MPI_P2P, api.MPI_COLLECTIVE),
        Subject(
            english("GPU metrics"),
            ("GPU_METRICS",),
            "nsys profile --gpu-metrics-devices=all",
            (counters.convert_gpu_metrics,),
        ),
        Subject(
            english("CUDA memory usage"),
            ("CUDA_GPU_MEMORY_USAGE_EVENTS",),
            "nsys profile --cuda-memory-usage=true",
            (lambda shared, table: counters.convert_memory_usage(shared, devices, table),),
        ),
        Subject(
            english("unified memory page faults"),
            ("CUDA_UM_GPU_PAGE_FAULT_EVENTS", "CUDA_UM_CPU_PAGE_FAULT_EVENTS"),
            "nsys profile --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true",
            (
                lambda shared, table: gpu_events.convert_gpu_faults(shared, devices, table),
                gpu_events.convert_cpu_faults,
            ),
        ),
        Subject(
            english("GPU context switches"),
            ("GPU_CONTEXT_SWITCH_EVENTS",),
            "nsys profile --gpuctxsw=true",
            (lambda shared, table: gpu_events.convert_context_switches(shared, devices, table),),
        ),
        Subject(
            english("network interfaces"),
            ("NET_NIC_METRIC",),
            "nsys profile --nic-metrics=true",
            (counters.convert_network,),
        ),
        Subject(
            english("CPU and system metrics"),
            ("PERF_EVENT_SOC_OR_CPU_METRIC_EVENT", "PERF_EVENT_SOC_OR_CPU_RAW_EVENT"),
            "nsys profile --cpu-core-metrics=help",
            (counters.convert_cpu_metrics,) * 2,
        ),
        Subject(
            english("profiler overhead"),
            ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD", "CUPTI_ACTIVITY_KIND_JIT"),
            "",
            (api.convert_overhead,) * 3,
        ),
        # Last: only messages from inside the recording are shown, so its extent must be known.
        Subject(english("messages"), ("DIAGNOSTIC_EVENT",), "", (session.convert_diagnostics,)),
    )


def _calls(name: str, remedy: str, *specs: api.CallTable) -> Subject:
    return Subject(
        name, tuple(spec.table for spec in specs), remedy, tuple(api.convert_calls(spec) for spec in specs)
    )


def convert_tables(
    tables: TableFile,
    builder: CaptureBuilder,
    options: ImportOptions,
    progress: Progress,
    cancelled: IsCancelled,
) -> ImportSummary:
    """Adds the whole export to the builder.

    Raises ImportFormatError when the file is not an export or is damaged, Cancelled.
    """
    if not is_export(tables):
        raise ImportFormatError(
            tr(
                "{path} is a database, but not an export of Nsight Systems: it has no table StringIds",
                path=tables.path,
            )
        )
    window = Window()
    session.read_window(tables, window)
    total = max(1, sum(tables.count(table) for table in tables.names() if not table.startswith(_SUPPORTING)))
    done = 0
    now_reading = ""

    def report_rows(count: int) -> None:
        nonlocal done
        done += count
        progress(min(1.0, done / total), now_reading)

    context = Context(
        tables=tables,
        builder=builder,
        options=options,
        names=Names(tables, builder),
        window=window,
        cancelled=cancelled,
        report_rows=report_rows,
    )
    subjects = _subjects(context)
    for subject in subjects:
        check_cancelled(cancelled)
        now_reading = tr("reading {what}", what=subject.name)
        _convert_subject(context, subject)
    session.describe(context)
    _report_rest(context, subjects)
    _set_span(context)
    return ImportSummary(
        events=context.events,
        start_ns=window.first_ns,
        stop_ns=window.last_ns,
        utc_offset_ns=session.utc_start_ns(tables),
        collectives=context.collectives.result(),
    )


def is_export(tables: TableFile) -> bool:
    """Whether these are tables of Nsight Systems; StringIds is the only table in every export."""
    return {"id", "value"} <= tables.columns("StringIds")


def _convert_subject(context: Context, subject: Subject) -> None:
    rows = {table: context.tables.count(table) for table in subject.tables}
    events = context.events
    for table, convert in zip(subject.tables, subject.converts, strict=True):
        if rows[table]:
            convert(context, table)
    name = english("Nsight {subject}", subject=subject.name)
    if context.options.rank is not None:
        name = english("{name}, rank {number}", name=name, number=context.options.rank)
    if any(rows.values()):
        added = context.events - events
        amount = (
            english_n("{count:,} event", "{count:,} events", added)
            if added
            else english_n("{count:,} row", "{count:,} rows", sum(rows.values()))
        )
        context.builder.add_source(name, enabled=True, reason=amount)
    else:
        reason = (
            english("the table {table} is empty", table=subject.tables[0])
            if any(context.tables.columns(table) for table in subject.tables)
            else english("the export has no table {table}", table=subject.tables[0])
        )
        context.builder.add_source(name, enabled=False, reason=reason, remedy=subject.remedy)


def _report_rest(context: Context, subjects: tuple[Subject, ...]) -> None:
    """Reports irregularities, and tables with rows that are not read."""
    for (table_name, (singular, plural)), count in context.problems.items():
        context.builder.add_warning(f"{table_name}: {english_n(singular, plural, count)}")
    known = {table for subject in subjects for table in subject.tables}
    for table in context.tables.names():
        if table in known or table.startswith(_SUPPORTING):
            continue
        context.builder.add_skipped(
            table, context.tables.count(table), english("rows of a table that Warpline does not read yet")
        )


def _set_span(context: Context) -> None:
    """Sets the span to the recording's interval; for an excerpt, to that of its events."""
    window = context.window
    if window.first_ns is None or window.last_ns is None or context.options.rank is not None:
        return
    first, last = window.first_ns, window.last_ns
    if window.stop_ns is not None:
        covered = min(last, window.stop_ns) - max(first, window.start_ns)
        has_first_call = window.first_call is not None and window.first_call <= _FIRST_CALLS
        if has_first_call or covered >= _MOSTLY_OUTSIDE * (window.stop_ns - window.start_ns):
            first, last = min(first, window.start_ns), max(last, window.stop_ns)
        else:
            context.builder.add_warning(
                english(
                    "The file holds {covered:.3f} s of a recording of {whole:.3f} s. It is an excerpt, or little was "
                    "traced. Only this part is shown",
                    covered=max(covered, 0) / 1e9,
                    whole=(window.stop_ns - window.start_ns) / 1e9,
                ),
                is_loss=True,
            )
    context.builder.set_span(first, last)
