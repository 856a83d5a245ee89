"""Texts that people and programs hand over: arguments, settings, names, and what is read of the recorded program."""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.campaign.mutate_json import VALUES
from tests.fuzz.guided.target import Differs, Target, scratch

from warpline.analysis.compare.gate import parse_condition
from warpline.cli import arguments, limits, record, recording_options
from warpline.interchange.framework.detection import detect_head
from warpline.interchange.framework.registry import importers
from warpline.model import UsageError
from warpline.model.frames import parse_frame
from warpline.model.markdown import markdown_text
from warpline.model.times import format_duration, format_time, parse_range, parse_time
from warpline.recording.spool.console_text import ConsoleText
from warpline.recording.spool.secrets import masked
from warpline.recording.symbols.demangle import demangle
from warpline.recording.symbols.elf import function_table, read_elf
from warpline.recording.symbols.frame_rules import FrameRules
from warpline.untrusted import natural_key, one_line, spreadsheet_text, visible

_PARSERS: tuple[Callable[[str], Any], ...] = (
    arguments.time_ns, arguments.time_range, arguments.size_px, limits.long_time_ns, limits.size_bytes,
    record.samples_per_second, record.count_of_steps, recording_options.trace_sources, record.capture_range,
    parse_condition, parse_time, parse_range,
)  # fmt: skip


def run_arguments(data: bytes) -> None:
    """Every type of argument that is a text of its own: a value, or one line."""
    text = data.decode("utf-8", "surrogateescape")
    refused = 0
    for parse in _PARSERS:
        try:
            value = parse(text)
        except (argparse.ArgumentTypeError, UsageError, ValueError) as error:
            refused += 1
            if not str(error) or len(str(error)) > 500 + 6 * len(text):
                raise Differs(f"{parse.__name__}: a message of {len(str(error))} characters") from error
            continue
        if parse in (arguments.time_ns, limits.long_time_ns, limits.size_bytes) and value < 0:
            raise Differs(f"{parse.__name__}: {value}")
        if parse is parse_time:
            format_duration(value), format_time(value)
    if refused == len(_PARSERS):
        raise UsageError("none of them")


def run_names(data: bytes) -> None:
    """Names as they are shown, sorted and written."""
    text = data.decode("utf-8", "surrogateescape")
    natural_key(text)
    spreadsheet_text(text)
    markdown_text(text)
    parse_frame(text)
    demangle(text.encode("utf-8", "replace").decode())
    masked(tuple(text.split("\x1f")))
    if "\n" in one_line(text) or re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", visible(text)):
        raise Differs("what is shown steers terminals")
    console = ConsoleText(20)
    for piece in (data[:7], data[7:]):
        console.feed(piece)
    str(console.text)  # made when it is asked for


def run_formats(data: bytes) -> None:
    """Which format a file is of: nobody's content is refused with an error."""
    path = scratch() / "x.bin"
    path.write_bytes(data)
    for importer in importers():
        importer.recognise(data, path)
    detect_head(data, path)


def run_elf(data: bytes) -> None:
    """The functions of a program that was recorded, and who called them."""
    path = scratch() / "x.so"
    path.write_bytes(data)
    try:
        elf = read_elf(path)
    except ValueError as error:
        raise UsageError("no such file") from error
    table = function_table(elf)
    for address in [*table.start[:20].tolist(), elf.first_address, 0]:
        table.find(address)
        elf.address_of(address)
    if elf.frames is not None:
        rules = FrameRules(elf)
        for start in [*rules._starts[:20].tolist(), 1 << 40]:
            rules.find(start + 1)
            rules.start_of(start)


def _elf_seeds(_data: Path | None) -> list[bytes]:
    """The smallest of our own compiled helpers."""
    import warpline

    found = sorted(Path(warpline.__file__).parent.glob("**/*.so"), key=lambda path: path.stat().st_size)
    return [path.read_bytes() for path in found[:2]]


def run_settings(data: bytes) -> None:
    """What the window remembers, in a file that anybody may have edited."""
    from warpline_app.remembered.settings import Settings

    path = scratch() / "settings.ini"
    path.write_bytes(data)
    settings = Settings(path)
    for name, value in vars(Settings).items():
        if isinstance(value, property):
            getattr(settings, name)
    for key in ("layouts/u", "views/u", "panels/open"):
        settings.record_of(key)
        settings.bytes_of(key)


_LAYOUT = {
    "version": 1, "view": [0, 100], "pins": ["a"], "order": {"": ["a", "b"]}, "hidden": ["b"], "expanded": {"a": True},
    "heights": {"a": 20}, "marks": [[5, "x"]], "origin": 3, "arrows": "all",
}  # fmt: skip


def _settings_seeds(_data: Path | None) -> list[bytes]:
    text = json.dumps(json.dumps(_LAYOUT))
    return [
        b"[appearance]\ntheme=dark\nlanguage=system\nlegend=true\ncritical_path=false\n[session]\nrestore=true\n",
        b'[files]\nrecent="[\\"/a.h5\\", \\"/b.h5\\"]"\nlast_folder=/tmp\n[session]\nfiles="[]"\n',
        f"[layouts]\nu={text}\n[views]\nu={text}\n".encode(),
        b"[panels]\nopen=@ByteArray(\\0\\xff)\n[General]\nx=@Variant(\\0\\0\\0\\b\\0\\0\\0\\0)\n",
    ]


def _mutate_settings(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    key, _, _value = lines[place].partition(b"=")
    value = json.dumps(json.dumps({**_LAYOUT, rng.choice(list(_LAYOUT)): rng.choice(VALUES)}, default=str))
    lines[place] = (
        key + b"=" + rng.choice((value.encode(), b"@Variant(\\0\\0\\0\\x7f)", b"@Rect(1 2)", b"1e999", b"@"))
    )
    return b"\n".join(lines)


def _preload_settings() -> None:
    import warpline_app.remembered.settings

    del warpline_app


_ARGUMENTS = (
    b"1.5s", b"20ms", b"5ns", b"1.2s:1.3s", b":500ms", b"1600x900", b"10m", b"1.5h", b"500M", b"2G", b"2GiB", b"100",
    b"cpu,nvtx", b"nvtx:step", b"cuda-profiler", b"none", b"step>5%", b"total>20ms", b"copies>10%", b"+1", b"-1",
)  # fmt: skip
_NAMES = (
    b"step 9", b"=1+1", b"a.py:3 work", b"f (/usr/lib/a.py:3)", b"_ZN2at4_ops3add4callERKNS_6TensorE", b"--password=x",
    b"https://u:p@host/x?token=abc", b"\x1b[31mred\x1b[0m\r\n", b"a\x1f--api-key\x1fsecret", b"a|b*c_d_",
    b"x\xe2\x80\xae",
)  # fmt: skip
_HEADS = (
    b'{"traceEvents":[{"ph":"X"', b"SQLite format 3\0", b"\x89HDF\r\n\x1a\n", b"PERFILE2",
    b"\x0a\x051.0.2\x10\x01\x1a\x02", b"# tracer: nop\n a-1 [000] .... 1.000000: x: y\n",
    b'<html><script class="trace-data">', b"\x1f\x8b\x08\0", b"PK\x03\x04",
)  # fmt: skip

TARGETS = (
    Target("arguments", run_arguments, lambda _data: list(_ARGUMENTS), words=_ARGUMENTS, most_bytes=400),
    Target("names", run_names, lambda _data: list(_NAMES), words=_NAMES, most_bytes=600),
    Target("formats", run_formats, lambda _data: list(_HEADS), words=_HEADS, most_bytes=2000),
    Target("elf", run_elf, _elf_seeds, most_bytes=1 << 16),
    Target(
        "settings",
        run_settings,
        _settings_seeds,
        _mutate_settings,
        (b"@Variant(", b"@ByteArray("),
        2000,
        _preload_settings,
    ),
)
