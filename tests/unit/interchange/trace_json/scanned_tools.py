"""Reads a piece of a trace with the scanner and with the decoder, for comparison."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from warpline.interchange.torch import columns as torch_columns
from warpline.interchange.trace_json.decoding import CompiledDecoder, Decoder, TextDecoder
from warpline.interchange.trace_json.json_stream import EventStream
from warpline.interchange.trace_json.piece_columns import Group, Piece
from warpline.interchange.trace_json.scanner import Scanner, library
from warpline.interchange.trace_json.trace_format import CHROME

FORMATS = {"torch": torch_columns.TORCH, "chrome": CHROME}


def parts(piece: Piece | None) -> Iterator[Piece]:
    while piece is not None:
        yield piece
        piece = piece.also


def table(name: str, group: Group) -> list[tuple[Any, ...]]:
    """One tuple per event with all its values."""
    columns: list[list[Any]] = [
        [group.name.table[code] for code in group.name.codes],
        group.start.tolist(),
        group.duration.tolist(),
        [str(group.places[code] if group.places else group.threads[code]) for code in group.thread],
    ]
    if name not in torch_columns.GPU_GROUPS:
        columns.append([group.category.table[code] for code in group.category.codes])
    known: list[list[tuple[str, float]]] = [[] for _ in range(len(group))]
    for key, values in sorted(group.numbers.items()):
        mask = np.ma.getmaskarray(values)
        for row, value in enumerate(np.ma.getdata(values).tolist()):
            if not mask[row]:
                known[row].append((key, float(value)))
    columns.append(known)
    if group.phases is not None:
        columns.append([group.phases.table[code] for code in group.phases.codes])
    columns += [group.ids] if group.ids else []
    for key, column in sorted(group.texts.items()):
        # What had to be mended is written anew.
        table = [
            json.loads(text, parse_int=str) if key == "payload" and text else text for text in column.table
        ]
        columns.append([(key, repr(table[code])) for code in column.codes])
    return sorted(zip(*columns, strict=True), key=repr)


def content(*pieces: Piece) -> dict[str, Any]:
    found: dict[str, Any] = {"events": 0, "losses": Counter(), "metadata": []}
    for part in (part for piece in pieces for part in parts(piece)):
        found["events"] += part.events
        found["losses"] += part.losses
        found["metadata"] += part.metadata.items()
        for name, group in part.groups.items():
            if len(group):
                found.setdefault(name, []).extend(table(name, group))
    return {name: sorted(rows, key=repr) if isinstance(rows, list) else rows for name, rows in found.items()}


def scanner() -> Scanner:
    lib = library()
    assert lib is not None
    return Scanner(lib)


def scanned(text: bytes, form: str) -> list[Piece]:
    """Reads an array with the scanner, and with the decoder from where the scanner stops."""
    begin = text.index(b"[") + 1
    reader = scanner()
    decoder = CompiledDecoder(FORMATS[form], reader)
    scan = reader.scan(text, begin)
    if scan is None:
        return [decoder.piece(text)]
    found = [decoder.piece(scan)]
    if not scan.ended:
        found.append(decoder.piece(b"[" + text[scan.stop :]))
    return found


def both_ways(text: bytes, form: str) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The results of scanner and decoder, and whether the scanner read anything."""
    pieces = scanned(text, form)
    return content(*pieces), content(TextDecoder(FORMATS[form]).piece(text)), bool(pieces[0].groups)


def whole_file(path: Path, decoder: Decoder, chunk: int) -> dict[str, Any]:
    stream = EventStream(path, chunk, decoder.scanner)
    found = content(*[decoder.piece(part) for part in stream])
    return {**found, "header": stream.state.header, "cut": stream.state.truncated}
