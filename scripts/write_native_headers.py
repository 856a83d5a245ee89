"""Writes the headers of the agent whose layouts Python shares: ``python scripts/write_native_headers.py``.

The tables are Python's: the dtypes in the ``records.py`` of the sources, and the offsets in ``interpreter_offsets.py``
of the source `python`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np

from warpline.recording.agent import records as waits
from warpline.recording.sources import registry
from warpline.recording.sources.cuda import records as cuda
from warpline.recording.sources.nvtx import records as nvtx
from warpline.recording.sources.paddle import records as paddle
from warpline.recording.sources.python import interpreter_offsets as offsets
from warpline.recording.sources.steps import records as steps
from warpline.recording.sources.torch import records as torch
from warpline.recording.spool import records as spool
from warpline.recording.spool.record_layout import RecordLayout

NATIVE = Path(__file__).resolve().parents[1] / "capture" / "warpline" / "recording" / "agent" / "native"
STRING = 1
"""Type of the records with strings, which have no fixed size (docs/spool.md)."""
GROUPS = {
    "No source's own": (spool, ("clock_pair", "source_state", "recording_state")),
    "NVTX": (nvtx, None),
    "CUPTI": (cuda, None),
    "The OS runtime, and Python": (waits, None),
    "Frameworks, by hooks inside them": (steps, None),
    "PyTorch's operators": (torch, None),
    "Paddle's events": (paddle, None),
}
"""Modules with layouts, and which of them the agent writes; None: all but those in `RECORDERS`."""
RECORDERS = {"closed_program"}
SHARED = {"NVTX_MARK": "nvtx_range_attributes", "CUPTI_RUNTIME": "cupti_api", "CUPTI_DRIVER": "cupti_api"}
"""Types of records whose layout has another name."""
CONSTANTS = {
    "NVTX_POP": nvtx.POP,
    "NVTX_POPPED_UNSEEN": nvtx.POPPED_UNSEEN,
    "NVTX_LEVEL_UNBALANCED": nvtx.LEVEL_UNBALANCED,
    "NVTX_HAS_COLOR": nvtx.HAS_COLOR,
    "NVTX_HAS_CATEGORY": nvtx.HAS_CATEGORY,
    "CUPTI_NAMED_DEVICE": cuda.NAMED_DEVICE,
    "CUPTI_NAMED_CONTEXT": cuda.NAMED_CONTEXT,
    "CUPTI_NAMED_STREAM": cuda.NAMED_STREAM,
    "CUPTI_CLOCK_MONOTONIC": cuda.CLOCK_MONOTONIC,
    "CUPTI_CLOCK_PAIRS": cuda.CLOCK_PAIRS,
    "CUPTI_LOST_NO_ROOM": cuda.LOST_NO_ROOM,
    "CUPTI_LOST_UNFINISHED": cuda.LOST_UNFINISHED,
    "CUPTI_LOST_NO_MEMORY": cuda.LOST_NO_MEMORY,
    "RELEASED_BY_CALLER": waits.RELEASED_BY_CALLER,
}
PARTS = {"nvtx_attributes": ("attributes", nvtx.ATTRIBUTES)}
"""Runs of fields that are a structure of their own in C, and the name of its member."""
_C_TYPES = {
    "u8": "uint64_t",
    "i8": "int64_t",
    "u4": "uint32_t",
    "i4": "int32_t",
    "u2": "uint16_t",
    "u1": "uint8_t",
}


def records_header() -> str:
    """``records.h``."""
    types: dict[str, int] = {"STRING": STRING}
    layouts: list[str] = []
    sizes: list[str] = []
    for title, (module, names) in GROUPS.items():
        layouts.append(f"/* {title} */")
        for name, number, layout in _records(module, names):
            types[name] = number
            structure = SHARED.get(name, name.lower())
            if f"RECORD_SIZE(record_{structure}, {layout.itemsize});" not in sizes:
                layouts += _structure(f"record_{structure}", layout)
                sizes.append(f"RECORD_SIZE(record_{structure}, {layout.itemsize});")
    lines = [
        "/* Layouts of what the agent writes; docs/spool.md explains the fields. Written from Python's tables by",
        " * `python scripts/write_native_headers.py`; a test compares it. */",
        "#ifndef WARPLINE_RECORDS_H", "#define WARPLINE_RECORDS_H", "", "#include <stdint.h>", "",
        "/* clang-format off */",
        "enum {", *(f"    RECORD_{name} = {number}," for name, number in types.items()), "};", "",
        "/* Every type of fixed size: SLOT(NAME) for RECORD_NAME. */",
        "#define SLOTS(SLOT) \\", " \\\n".join(f"    SLOT({name})" for name in list(types)[1:]), "",
        "/* Bits of the control page: what is asked for. */",
        "enum {", *(f"    SOURCE_{name.upper()} = {bit}," for name, bit in _control_bits().items()), "};", "",
        *(f"#define {name} {value:#x}u" for name, value in CONSTANTS.items()), "",
    ]  # fmt: skip
    for name, (_member, fields) in PARTS.items():
        lines += _structure(name, np.dtype(fields))
    lines += ["", *layouts, ""]
    lines.append(
        '#define RECORD_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), "docs/spool.md promises this")'
    )
    return "\n".join([*lines, *sizes, "/* clang-format on */", "", "#endif", ""])


def offsets_header() -> str:
    """``python/python_offsets.h``."""
    tables: list[str] = []
    for minor, table in offsets.OFFSETS.items():
        tables += _initialiser([f".minor={minor}", *(f".{name}={offset}" for name, offset in table.items())])
    published = (
        ", ".join(
            [
                f".minor = {minor}",
                *(f".{name} = {at}" for name, at in zip(offsets.GROUPS, begins, strict=True)),
            ]
        )
        for minor, begins in offsets.PUBLISHED
    )
    fields = (f"    FIELD({name}, {group}, {at}, {add})" for name, (group, at, add) in offsets.FIELDS.items())
    return "\n".join([
        "/* Where things lie inside CPython. Written from interpreter_offsets.py by",
        " * `python scripts/write_native_headers.py`; a test compares it. */",
        "#ifndef WARPLINE_PYTHON_OFFSETS_H", "#define WARPLINE_PYTHON_OFFSETS_H", "",
        '#include "python_layout.h"', "",
        "/* clang-format off */",
        "static const struct python_layout offset_tables[] = {", *tables, "};", "",
        "/* Where groups of fields begin in `_Py_DebugOffsets`, in fields of 8 bytes. */",
        "static const struct published {", "    int minor;", f"    uint8_t {', '.join(offsets.GROUPS)};",
        "} published[] = {",
        *(f"    {{{begins}}}," for begins in published), "};", "",
        "/* FIELD(name, group, place in the group, bytes to add) */",
        "#define PUBLISHED_FIELDS(FIELD) \\", " \\\n".join(fields),
        "/* clang-format on */", "", "#endif", "",
    ])  # fmt: skip


def _records(
    module: ModuleType, names: tuple[str, ...] | None
) -> Iterator[tuple[str, int, np.dtype[np.void]]]:
    """Name, number and layout of each type of records that a module lists and the agent writes."""
    for name, number in vars(module).items():
        layout = getattr(module, SHARED.get(name, name.lower()), None)
        if not name.isupper() or not isinstance(layout, RecordLayout):
            continue
        if name.lower() in names if names is not None else name.lower() not in RECORDERS:
            yield name, number, layout.dtype


def _control_bits() -> dict[str, int]:
    choices = sorted(registry.choices(), key=lambda choice: choice.control_bit)
    return {choice.name.replace("-", "_"): choice.control_bit for choice in choices if choice.control_bit}


def _structure(name: str, layout: np.dtype[np.void]) -> list[str]:
    """The lines of a structure; fields of one type in succession share one."""
    lines: list[str] = []
    text = "".join(f"{kind} {field};" for kind, field in _members(layout))
    for part, (member, fields) in PARTS.items():
        inner = "".join(f"{kind} {field};" for kind, field in _members(np.dtype(fields)))
        if text != inner:
            text = text.replace(inner, f"struct {part} {member};")
    text = re.sub(r"(\w+) (\w+)_x;\1 \2_y;\1 \2_z;", r"\1 \2[3];", text)
    before = ""
    for declaration in text.split(";")[:-1]:
        kind, field = declaration.rsplit(" ", 1)
        if kind == before and len(lines[-1]) + len(field) < 110:
            lines[-1] += f", {field}"
        else:
            lines.append(f"    {kind} {field}")
        before = kind
    return [f"struct {name} {{", *(f"{line};" for line in lines), "};"]


def _members(layout: np.dtype[np.void]) -> Iterator[tuple[str, str]]:
    for name in layout.names or ():
        base, shape = layout[name].base, layout[name].shape
        yield _C_TYPES[base.str[1:]], name + "".join(f"[{count}]" for count in shape)


def _initialiser(values: list[str]) -> list[str]:
    wrapped = textwrap.wrap(", ".join(values), 95, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return ["    {", *(line.replace("=", " = ") for line in wrapped), "    },"]


HEADERS = {"records.h": records_header, "python/python_offsets.h": offsets_header}
"""What is written, by its path below `NATIVE`."""

if __name__ == "__main__":
    for name, write in HEADERS.items():
        (NATIVE / name).write_text(write(), encoding="utf-8")
        print(f"wrote {NATIVE / name}")
