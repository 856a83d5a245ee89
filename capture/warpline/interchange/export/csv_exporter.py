"""Exports CSV: one table of all events, or into a folder a table per kind, links and counters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from warpline.i18n import tr
from warpline.interchange.export.event_columns import COMMON, CodedColumn
from warpline.interchange.export.event_table import TableReader, attribute_types, kinds_in
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.output_files import writing
from warpline.interchange.export.selection import CHUNK_EVENTS, ExportSelection, counter_slice
from warpline.untrusted import spreadsheet_text

if TYPE_CHECKING:
    from warpline.storage import Capture

_SPECIAL = frozenset(',"\r\n')


class CsvExporter:
    """RFC 4180 with line feeds, UTF-8, a header line; a missing value is an empty cell."""

    name = "csv"
    position = 30
    suffixes = (".csv", ".csv.gz")
    size_model = SizeModel(per_event=85, per_attribute=22, per_text_byte=0.7)

    @property
    def title(self) -> str:
        return tr("CSV table")

    def export(self, job: ExportJob) -> Path:
        # `writing` compresses if the name ends in .gz.
        capture, selection, out = job.capture, job.selection, job.out
        kinds = kinds_in(capture, selection)
        report = job.counted(tr("writing events"))
        if not out.is_dir():
            with writing(out) as file:
                _write_events(capture, TableReader(capture, selection), kinds, file, report)
            return out
        for kind in kinds:
            with writing(out / f"{kind}.csv") as file:
                _write_events(capture, TableReader(capture, selection, kind), [kind], file, report)
        with writing(out / "links.csv") as file:
            _write_links(capture, file)
        with writing(out / "counters.csv") as file:
            _write_counters(capture, selection, file)
        return out


def _write_events(
    capture: Capture, reader: TableReader, kinds: list[str], file: BinaryIO, report: Any
) -> None:
    header = [*COMMON, *attribute_types(capture, kinds)]
    file.write((",".join(map(_quoted, header)) + "\n").encode("utf-8", "replace"))
    for _kind, count, columns in reader.batches():
        cells = [_cells(columns[name], count) if name in columns else None for name in header]
        file.write(_lines(cells, count).encode("utf-8", "replace"))
        report(count)


def _write_links(capture: Capture, file: BinaryIO) -> None:
    """Writes all links; ends refer to the column ``row`` and are empty outside the capture."""
    file.write(b"kind,from_row,to_row\n")
    links = capture.links
    for first in range(0, len(links), CHUNK_EVENTS):
        part = slice(first, first + CHUNK_EVENTS)
        sources, targets, kinds = links.from_row[part], links.to_row[part], links.kind[part]
        unique, codes = np.unique(kinds, return_inverse=True)
        cells = [
            _cells(
                CodedColumn(codes.reshape(-1), None, [links.kind_name(code) for code in unique.tolist()]),
                len(kinds),
            ),
            _cells(CodedColumn(sources, sources >= 0), len(kinds)),
            _cells(CodedColumn(targets, targets >= 0), len(kinds)),
        ]
        file.write(_lines(cells, len(kinds)).encode())


def _write_counters(capture: Capture, selection: ExportSelection, file: BinaryIO) -> None:
    file.write(b"track,name,unit,time_ns,value\n")
    for counter in capture.counters:
        if not selection.has_track(counter.track):
            continue
        rows = counter_slice(capture, counter.index, selection)
        times, values = counter.times[rows], counter.values[rows]
        for first in range(0, len(times), CHUNK_EVENTS):
            part = slice(first, first + CHUNK_EVENTS)
            count = len(times[part])
            labels = [capture.tracks[counter.track].uri, counter.name, counter.unit]
            cells: list[npt.NDArray[Any] | None] = [
                _cells(CodedColumn(np.zeros(count, np.int64), None, [text]), count) for text in labels
            ]
            cells += [
                times[part] - capture.span[0],
                _cells(CodedColumn(values[part], np.isfinite(values[part])), count),
            ]
            file.write(_lines(cells, count).encode("utf-8", "replace"))


def _cells(column: CodedColumn, count: int) -> npt.NDArray[Any]:
    """The cells of a column, as an array for `_lines`."""
    cells: npt.NDArray[Any]
    if column.texts is not None:
        cells = np.array([_quoted(text) for text in column.texts] or [""], object)[column.codes]
    elif column.codes.dtype.kind == "f":
        unique, inverse = np.unique(column.codes, return_inverse=True)
        cells = np.array([str(value) for value in unique], object)[inverse.reshape(-1)]
    elif column.codes.dtype.kind == "b":
        cells = np.array(["false", "true"], object)[column.codes.astype(np.int64)]
    else:
        cells = column.codes
    if column.valid is not None and not column.valid.all():
        printed = np.full(count, "", object)
        printed[column.valid] = cells[column.valid]
        return printed
    return cells


def _quoted(text: str) -> str:
    text = spreadsheet_text(text)
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.intersection(text) or text[:1] == " " else text


def _lines(cells: Sequence[npt.NDArray[Any] | None], count: int) -> str:
    """Formats lines of CSV in one operation; None is an empty column."""
    present = [column for column in cells if column is not None]
    table = np.empty((count, len(present)), object)
    for index, column in enumerate(present):
        table[:, index] = column
    template = ",".join("" if column is None else "%s" for column in cells) + "\n"
    return template * count % tuple(table.ravel().tolist())


exporter = CsvExporter()
