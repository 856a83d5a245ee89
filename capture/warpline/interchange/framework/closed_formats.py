"""Formats that Warpline recognises but does not read: the name of each, and how to get something that it does read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from warpline.i18n import english, tr, translated

Matcher = Callable[[bytes, Path], bool]
"""Decides by the beginning of the unpacked content, and by the path where the content is ambiguous."""

_RECIPE_HEADER = re.compile(rb'"?(Start \(ns\)|Name|Range Name|Time \(%\))"?,')


def _starts_with(*prefixes: bytes) -> Matcher:
    return lambda head, _path: head.startswith(prefixes)


def _matches(pattern: bytes) -> Matcher:
    compiled = re.compile(pattern)
    return lambda head, _path: compiled.match(head) is not None


def _is_recipe(head: bytes, path: Path) -> bool:
    """Whether it is a CSV table (plain or xz) of ``nsys stats``."""
    is_packed_table = head.startswith(b"\xfd7zXZ\x00") and ".csv" in path.name
    return is_packed_table or _RECIPE_HEADER.match(head) is not None


def _is_table(head: bytes, path: Path) -> bool:
    """Whether it is a CSV file with a line of column names."""
    names = head.split(b"\n", 1)[0].split(b",")
    return (
        path.suffix.lower() == ".csv" and len(names) > 1 and not any(name.strip().isdigit() for name in names)
    )


def _is_ctf(head: bytes, _path: Path) -> bool:
    """Whether it is a stream or the metadata of a CTF trace, as LTTng and barectf write them."""
    magics = (0xC1FC1FC1, 0x75D11D57)
    is_packet = any(
        head.startswith(magic.to_bytes(4, order)) for magic in magics for order in ("little", "big")
    )
    return is_packet or head.startswith(b"/* CTF 1")


def _is_etl(head: bytes, _path: Path) -> bool:
    """Whether the first event of a buffer of ETW follows its 72 bytes: version 2, type 1 or 2, flags 0xC0."""
    return head[72:74] == b"\x02\x00" and head[74:76] in (b"\x01\xc0", b"\x02\xc0")


def _is_memray(head: bytes, _path: Path) -> bool:
    """Whether it is a file of memray; in one packed with LZ4, the beginning of the first block is plain."""
    is_packed = head.startswith(b"\x04\x22\x4d\x18") and b"memray\x00" in head[:32]
    return is_packed or head.startswith(b"memray\x00")


class ClosedFormat(NamedTuple):
    """A row of the table. ``{file}`` in the command stands for the quoted path."""

    title: str
    matches: Matcher
    advice: str
    command: str


_CONVERT = english("Convert it and open the result")
_RECORD = english("Record the program with Warpline instead, without root")

CLOSED_FORMATS = (
    ClosedFormat(
        english("a table of Nsight Systems, not a recording"),
        _is_recipe,
        english("Export the report that it was made from and open the result"),
        "nsys export --type sqlite FILE.nsys-rep",
    ),
    ClosedFormat(english("a CTF trace (LTTng)"), _is_ctf, _CONVERT, "ctf2ctf FOLDER > trace.json"),
    ClosedFormat(
        english("a log of Event Tracing for Windows"),
        _is_etl,
        english("Convert it with samply on Windows and open the result"),
        "samply import {file} --save-only -o profile.json",
    ),
    ClosedFormat(
        english("a recording of Java Flight Recorder"),
        _starts_with(b"FLR\x00"),
        english("Convert it with async-profiler's converter and open the result"),
        "jfrconv -o collapsed {file} stacks.txt",
    ),
    ClosedFormat(
        english("a recording of memray"),
        _is_memray,
        _CONVERT,
        "memray transform speedscope {file} -o memory.speedscope.json",
    ),
    ClosedFormat(
        english("totals of cProfile, without the time of any call"),
        _matches(rb"[{\xfb][)\xa9]\x03[AZazu\xc1\xda\xe1\xfa\xf5]"),  # marshal: a dict by (file, line, name)
        _RECORD,
        "warpline record -- COMMAND",
    ),
    ClosedFormat(
        english("totals in callgrind's format, without the time of any call"),
        _matches(rb"# callgrind format|(?:version: 1\r?\n)?creator: "),
        _RECORD,
        "warpline record -- COMMAND",
    ),
    ClosedFormat(
        english("a trace of Tracy"),
        _starts_with(b"tlZ\x04", b"tZst", b"tracy"),
        _RECORD,
        "warpline record -- COMMAND",
    ),
    ClosedFormat(
        english("an execution trace of Go"),
        _matches(rb"go 1\.\d+ trace\x00"),
        english("Write its profile of the scheduler and open that"),
        "go tool trace -pprof=sched {file} > sched.pb.gz",
    ),
    ClosedFormat(
        english("a self-profile of rustc"),
        _starts_with(b"MMPD"),
        english("Convert it with crox of measureme and open chrome_profiler.json"),
        "crox {file}",
    ),
    ClosedFormat(
        english("a profile in an older format of pprof and gperftools"),
        _matches(
            rb"heap profile: |--- (?:contention|mutex|heap|thread|growth)z? |goroutine profile: total"
            rb"|\0{4}(?:\0{4})?\x03\0{3}(?:\0{4})?\0{4}"
        ),
        english("Convert it with Go's pprof and open the result"),
        "go tool pprof -proto {file} > profile.pb.gz",
    ),
    ClosedFormat(
        english("a trace that SchedViz collected with bpftrace"),
        _matches(rb"(?:Attaching \d+ probes\.\.\.\s+)?ST:\d+:[0-9a-f]+\s+[PSW]:[0-9a-f]+:"),
        english("Record the scheduler with trace-cmd and open the result"),
        "trace-cmd record -e sched -o trace.dat COMMAND",
    ),
    ClosedFormat(
        english("a table of results, not a recording"),
        _is_table,
        english("Open the trace that it was made from, or the folder of the run"),
        "warpline view FOLDER",
    ),
)
"""The first matching row names the file. An importer whose confidence exceeds `POSSIBLE` takes precedence."""


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
