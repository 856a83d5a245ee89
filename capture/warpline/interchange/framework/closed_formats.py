"""Formats of other tools that Warpline does not read: recognised by content, and told how they can be brought in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import tr

_SQLITE = b"SQLite format 3\x00"
_HTML_TRACE = re.compile(rb'class="trace-data"|<script[^>]*trace-data|trace_event_clock_sync')
_FTRACE_LINE = re.compile(rb"^ *.{1,40}-\d+ +(\( *[\d-]+\) )?\[\d{3}\].* \d+\.\d{6,9}: +\w+: ", re.MULTILINE)
_PERF_SCRIPT_LINE = re.compile(rb"^.{0,32}?\d+(/\d+)? +(\[\d{3}\] +)?\d+\.\d{6,9}: +", re.MULTILINE)
_PERFETTO_PACKET = 0x0A
"""Field 1 of a trace, length delimited: the first byte of Perfetto's files."""
_XPLANE_NAMES = (b"/host:metadata", b"/host:CPU", b"/device:GPU", b"/device:TPU", b"Task Environment")


@dataclass(frozen=True)
class _Closed:
    """One format: what it is called, how its content is known, what to do (``{file}`` is the path, quoted)."""

    title: Callable[[], str]
    is_it: Callable[[bytes, Path], bool]
    remedy: Callable[[str], str]


def _is_sqlite_of(pattern: bytes) -> Callable[[bytes, Path], bool]:
    # The statements that made the tables stand in the first pages.
    found = re.compile(rb"CREATE (TABLE|VIEW) [\"`]?" + pattern, re.IGNORECASE)
    return lambda head, _path: head.startswith(_SQLITE) and found.search(head) is not None


def _is_xplane(head: bytes, _path: Path) -> bool:
    """A protobuf whose field 1 is a plane (id, name …), the first of them with one of XLA's names."""
    return head[:1] == b"\x0a" and any(name in head[:64] for name in _XPLANE_NAMES)


def _is_perfetto(head: bytes, path: Path) -> bool:
    """A protobuf of packets, each field 1 with its length, as far as a few packets go."""
    if _is_xplane(head, path):
        return False
    at, packets = 0, 0
    while at < len(head) and packets < 8:
        if head[at] != _PERFETTO_PACKET:
            return False
        length, at = _varint(head, at + 1)
        if length is None:
            return False
        at += length
        packets += 1
    return packets >= 3 or (packets > 0 and at == len(head))


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            return None, at
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return None, at


def _text(head: bytes) -> bytes:
    return head[: 1 << 16] if b"\x00" not in head[: 1 << 12] else b""


def _is_ftrace(head: bytes, _path: Path) -> bool:
    text = _text(head)
    return text.startswith((b"# tracer:", b"TRACE:")) or (
        not text.lstrip().startswith((b"{", b"[", b"<")) and _FTRACE_LINE.search(text) is not None
    )


def _is_perf_script(head: bytes, _path: Path) -> bool:
    text = _text(head)
    return b"# captured on" in text[:4096] or (
        not text.lstrip().startswith((b"{", b"[", b"<")) and _PERF_SCRIPT_LINE.match(text) is not None
    )


def _by_traceconv(file: str) -> str:
    return tr(
        "Perfetto's traceconv makes a trace of it that Warpline imports: {command}",
        command=f"traceconv json {file} trace.json",
    )


def _by_warpline(_file: str) -> str:
    return tr(
        "Warpline records programs itself, without root: {command}", command="warpline record -- COMMAND"
    )


def _is_systrace(head: bytes, _path: Path) -> bool:
    return head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")) and (
        _HTML_TRACE.search(head) is not None or _FTRACE_LINE.search(_text(head)) is not None
    )


def _is_recipe(head: bytes, path: Path) -> bool:
    """Parquet tables, and CSV tables (of nsys stats, packed or not) that begin with one of the known columns."""
    if head.startswith(b"PAR1"):
        return True
    if head.startswith(b"\xfd7zXZ\x00"):
        return ".csv" in path.name
    return re.match(rb'"?(Start \(ns\)|Name|Range Name|Time \(%\))"?,', head) is not None


_FORMATS: tuple[_Closed, ...] = (
    _Closed(
        lambda: tr("data of perf record"),
        lambda head, _path: head.startswith((b"PERFILE2", b"2ELIFREP")),
        _by_warpline,
    ),
    _Closed(
        lambda: tr("data of trace-cmd"),
        lambda head, _path: head.startswith(b"\x17\x08\x44tracing"),
        lambda file: tr(
            "print it, and let Perfetto's traceconv make a trace of it that Warpline imports: {command}",
            command=f"trace-cmd report {file} > trace.txt && traceconv json trace.txt trace.json",
        ),
    ),
    _Closed(
        lambda: tr("a database of ROCm's rocmProfileData"),
        _is_sqlite_of(rb"rocpd_(api|op|string)\b[\"`]? *\("),
        lambda file: tr(
            "its own tool makes a trace of it that Warpline imports: {command}",
            command=f"python rpd2tracing.py {file} trace.json",
        ),
    ),
    _Closed(
        lambda: tr("a database of ROCm's rocprofv3"),
        _is_sqlite_of(rb"rocpd_"),
        lambda file: tr(
            "convert it in two steps, and import the result: {command}",
            command=f"rocpd convert -i {file} -f pftrace -o trace, traceconv json trace.pftrace trace.json",
        ),
    ),
    _Closed(
        lambda: tr("a database of Ascend's profiler"),
        _is_sqlite_of(rb"(CANN_API|COMPUTE_TASK_INFO|PYTORCH_API)"),
        lambda _file: tr("import the trace it writes beside it: {command}", command="trace_view.json"),
    ),
    _Closed(
        lambda: tr("output of ROCm's rocprofv3"),
        lambda head, _path: re.match(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:', head) is not None,
        lambda _file: tr(
            "let it write a Perfetto trace, convert that, and import the result: {command}",
            command="rocprofv3 --output-format pftrace …, traceconv json FILE.pftrace trace.json",
        ),
    ),
    _Closed(
        lambda: tr("an XPlane profile of XLA (JAX, TensorFlow)"),
        _is_xplane,
        lambda _file: tr(
            "JAX writes a trace that Warpline imports, perfetto_trace.json.gz, with {command}",
            command="jax.profiler.trace(folder, create_perfetto_trace=True)",
        ),
    ),
    _Closed(lambda: tr("a trace of Android's systrace"), _is_systrace, _by_traceconv),
    _Closed(lambda: tr("text of ftrace"), _is_ftrace, _by_traceconv),
    _Closed(lambda: tr("text of perf script"), _is_perf_script, _by_warpline),
    _Closed(lambda: tr("a Perfetto trace"), _is_perfetto, _by_traceconv),
    _Closed(
        lambda: tr("a table of a recipe of Nsight Systems, not a recording"),
        _is_recipe,
        lambda _file: tr(
            "import the recording it was made from: {command}",
            command="nsys export --type sqlite FILE.nsys-rep",
        ),
    ),
)


def why_closed(head: bytes, path: Path) -> str | None:
    """One line that names the format and says how to bring the file in; None for everything else.

    ``head`` is the beginning of the unpacked content.
    """
    for closed in _FORMATS:
        if closed.is_it(head, path):
            return f"{path}: {closed.title()}; {closed.remedy(shlex.quote(str(path)))}"
    return None
