"""Formats that Warpline recognises but does not read: the name of each, and how to get something that it does read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from warpline.i18n import english, tr, translated

Matcher = Callable[[bytes, Path], bool]
"""Decides by the beginning of the unpacked content; the path is for what the content leaves open."""

_HTML_TRACE = re.compile(rb'class="trace-data"|<script[^>]*trace-data|trace_event_clock_sync')
_FTRACE_LINE = re.compile(rb"^ *.{1,40}-\d+ +(\( *[\d-]+\) )?\[\d{3}\].* \d+\.\d{6,9}: +\w+: ", re.MULTILINE)
_PERF_SCRIPT_LINE = re.compile(rb"^.{0,32}?\d+(/\d+)? +(\[\d{3}\] +)?\d+\.\d{6,9}: +", re.MULTILINE)
_RECIPE_HEADER = re.compile(rb'"?(Start \(ns\)|Name|Range Name|Time \(%\))"?,')


def _starts_with(*prefixes: bytes) -> Matcher:
    return lambda head, _path: head.startswith(prefixes)


def _matches(pattern: bytes) -> Matcher:
    compiled = re.compile(pattern)
    return lambda head, _path: compiled.match(head) is not None


def _text(head: bytes) -> bytes:
    return head[: 1 << 16] if b"\x00" not in head[: 1 << 12] else b""


def _plain_text(head: bytes) -> bytes:
    text = _text(head)
    return b"" if text.lstrip().startswith((b"{", b"[", b"<")) else text


def _is_ftrace(head: bytes, _path: Path) -> bool:
    return _text(head).startswith((b"# tracer:", b"TRACE:")) or bool(_FTRACE_LINE.search(_plain_text(head)))


def _is_perf_script(head: bytes, _path: Path) -> bool:
    return b"# captured on" in _text(head)[:4096] or bool(_PERF_SCRIPT_LINE.match(_plain_text(head)))


def _is_systrace(head: bytes, _path: Path) -> bool:
    is_page = head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))
    return is_page and bool(_HTML_TRACE.search(head) or _FTRACE_LINE.search(_text(head)))


def _is_recipe(head: bytes, path: Path) -> bool:
    """Whether it is a CSV table (plain or xz) of ``nsys stats``."""
    is_packed_table = head.startswith(b"\xfd7zXZ\x00") and ".csv" in path.name
    return is_packed_table or _RECIPE_HEADER.match(head) is not None


class ClosedFormat(NamedTuple):
    """A row of the table. ``{file}`` in the command stands for the quoted path."""

    title: str
    matches: Matcher
    advice: str
    command: str


_CONVERT = english("Convert it with Perfetto's traceconv and open the result")
_CONVERT_TWICE = english("Convert it in two steps and open the result")
_RECORD = english("Record the program with Warpline instead, without root")

CLOSED_FORMATS = (
    ClosedFormat(
        english("a perf.data file of perf record"),
        _starts_with(b"PERFILE2", b"2ELIFREP"),
        _RECORD,
        "warpline record -- COMMAND",
    ),
    ClosedFormat(
        english("a trace.dat file of trace-cmd"),
        _starts_with(b"\x17\x08\x44tracing"),
        _CONVERT_TWICE,
        "trace-cmd report {file} > trace.txt && traceconv json trace.txt trace.json",
    ),
    ClosedFormat(
        english("an HTML page of Android's systrace"),
        _is_systrace,
        _CONVERT,
        "traceconv json {file} trace.json",
    ),
    ClosedFormat(english("ftrace text"), _is_ftrace, _CONVERT, "traceconv json {file} trace.json"),
    ClosedFormat(
        english("text output of perf script"), _is_perf_script, _RECORD, "warpline record -- COMMAND"
    ),
    ClosedFormat(
        english("a report of Nsight Compute"),
        lambda head, path: head.startswith(b"NVR\x00") or path.suffix.lower() == ".ncu-rep",
        english("It has metrics of single kernels and no timeline. Print them"),
        "ncu --import {file} --page details",
    ),
    ClosedFormat(
        english("a table of Nsight Systems, not a recording"),
        _is_recipe,
        english("Export the report that it was made from and open the result"),
        "nsys export --type sqlite FILE.nsys-rep",
    ),
)
"""The first row that matches names the file. An importer that is surer than `POSSIBLE` comes before all of them."""


def why_closed(head: bytes, path: Path) -> str | None:
    """What the file is and what to do, in one line; None when no closed format matches.

    ``head`` is the beginning of the unpacked content.
    """
    for closed in CLOSED_FORMATS:
        if closed.matches(head, path):
            return tr(
                "{path}: {format}, which Warpline cannot read. {advice}: {command}",
                path=path,
                format=translated(closed.title),
                advice=translated(closed.advice),
                command=closed.command.replace("{file}", shlex.quote(str(path))),
            )
    return None
