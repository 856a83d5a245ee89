"""Reads facts about the recording: version, machine, command, times, messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english
from warpline.interchange.nsys.tables.access import NULL, TableFile, decode, read_all

if TYPE_CHECKING:
    from warpline.interchange.nsys.context import Context, Window

# Nothing else in these tables may be copied: they hold the program's environment, with secrets.
_HOST_FIELDS = {
    "Hostname": "name",
    "OsDescription": "system",
    "CpuDescription": "processor",
    "CpuArchitecture": "architecture",
    "CpuCores": "cores",
    "SoftwareReleaseVersion": "kernel",
    "NvDriverVersion": "driver",
    "CudaDriverVersion": "cuda",
}
_COMMAND, _ARGUMENT, _DIRECTORY = "PROCESS_0:COMMAND", "PROCESS_0:ARGUMENT_", "PROCESS_0:WORKING_DIR"
_SEVERITIES = {1: "info", 2: "warning", 3: "error", 4: "verbose"}
_MAX_WARNINGS = 20


def export_version(tables: TableFile) -> tuple[str, str]:
    """(version of Nsight Systems, version of the schema); empty if unknown."""
    properties: dict[str, str] = {}
    # Exports before 2023 use the second name.
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
        rows = read_all(tables, table, texts=("name", "value"))
        for name, value in zip(rows.texts["name"], rows.texts["value"], strict=True):
            properties.setdefault(decode(name), decode(value))
    return properties.get("EXPORT_PRODUCT_VERSION", ""), properties.get("EXPORT_SCHEMA_VERSION", "")


def read_window(tables: TableFile, window: Window) -> None:
    """Sets the end of the recording interval, which starts at 0, if the export has it."""
    rows = read_all(tables, "ANALYSIS_DETAILS", ints=("duration",))
    durations = rows["duration"][rows["duration"] > 0]
    if len(durations):
        window.stop_ns = int(durations.max())


def utc_start_ns(tables: TableFile) -> int | None:
    """Nanoseconds since the epoch at time 0 of the export, None if unknown."""
    rows = read_all(tables, "TARGET_INFO_SESSION_START_TIME", ints=("utcEpochNs",))
    known = rows["utcEpochNs"][rows["utcEpochNs"] > 0]
    return int(known[0]) if len(known) else None


def describe(context: Context) -> None:
    """Adds tool, machine and command line to the capture's metadata; never the environment."""
    meta = context.builder.meta
    version, schema = export_version(context.tables)
    meta.setdefault("tool", f"Nsight Systems {version}".strip())
    if schema:
        meta.setdefault("nsight_schema", schema)
    rows = read_all(context.tables, "META_DATA_CAPTURE", texts=("name", "value"))
    command: list[tuple[int, str]] = []
    for raw_name, raw_value in zip(rows.texts["name"], rows.texts["value"], strict=True):
        name, value = decode(raw_name), decode(raw_value)
        if name == _COMMAND:
            command.append((-1, value))
        elif (
            name.startswith(_ARGUMENT)
            and name[len(_ARGUMENT) :].isascii()
            and name[len(_ARGUMENT) :].isdigit()
        ):
            command.append((int(name[len(_ARGUMENT) :]), value))
        elif name == _DIRECTORY:
            meta.setdefault("working_directory", value)
    if command:
        meta.setdefault("command_line", [value for _, value in sorted(command, key=lambda pair: pair[0])])
    rows = read_all(context.tables, "TARGET_INFO_SYSTEM_ENV", texts=("name", "value"))
    host: dict[str, Any] = {}
    for raw_name, raw_value in zip(rows.texts["name"], rows.texts["value"], strict=True):
        key = _HOST_FIELDS.get(decode(raw_name))
        if key is not None:
            host.setdefault(key, decode(raw_value))
    if host:
        meta.setdefault("host", host)
    utc = utc_start_ns(context.tables)
    if utc is not None:
        meta.setdefault("start_utc_ns", utc)
    rows = read_all(context.tables, "MPI_RANKS", ints=("globalTid", "rank"))
    for tid, rank in zip(rows["globalTid"].tolist(), rows["rank"].tolist(), strict=True):
        process = context.known_process(context.process_of(tid))
        if process is not None and rank != NULL:
            context.builder.update_process(process, rank=rank)


def convert_diagnostics(context: Context, table: str) -> None:
    """Adds messages of the profiler as instants; warnings and errors also become warnings of the capture."""
    rows = read_all(context.tables, table, ints=("timestamp", "severity"), texts=("text",))
    context.report_rows(rows.rows)
    if not rows.rows:
        return
    texts = [" ".join(decode(text).split()) for text in rows.texts["text"]]
    serious = [
        text for text, severity in zip(texts, rows["severity"].tolist(), strict=True) if severity in (2, 3)
    ]
    for text in list(dict.fromkeys(serious))[:_MAX_WARNINGS]:
        context.builder.add_warning(english("Nsight Systems: {text}", text=text))
    # Messages from setup and export are outside the recording and would stretch it.
    window = context.window
    times = rows["timestamp"]
    inside = (times >= window.start_ns) & (times != NULL)
    if window.stop_ns is not None:
        inside &= times <= window.stop_ns
    context.builder.add_skipped(
        english("messages of the profiler"),
        int((~inside).sum()),
        english("sent before or after the recording; errors and warnings are listed under warnings"),
    )
    severity = np.array(
        [
            context.builder.string(_SEVERITIES.get(number, str(number)))
            for number in rows["severity"].tolist()
        ],
        np.uint32,
    )
    names = context.builder.strings(texts)
    before = (window.first_ns, window.last_ns)
    context.add(
        context.track(context.specs.messages()),
        "diagnostic",
        times[inside],
        None,
        names[inside],
        attributes={"severity": severity[inside]},
        label=table,
    )
    window.first_ns, window.last_ns = before
