"""Exports one Parquet table of all events. Needs pyarrow (the extra ``parquet``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from warpline.extras import install_command
from warpline.i18n import tr
from warpline.interchange.export.event_columns import COMMON, CodedColumn
from warpline.interchange.export.event_table import TableReader, attribute_types, kinds_in
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.output_files import replacing
from warpline.model import ExportError

_GROUP_ROWS = 1 << 18
"""Rows per row group; small tracks share one."""
_PARTS = 256
"""Parts of a row group that wait before they are joined."""


class ParquetExporter:
    """Columns as in the CSV table, typed; texts are dictionary-encoded."""

    name = "parquet"
    position = 40
    suffixes = (".parquet",)
    size_model = SizeModel(per_event=8, per_attribute=1, per_file=10_000, per_sample=0)

    @property
    def title(self) -> str:
        return tr("Parquet table")

    def export(self, job: ExportJob) -> Path:
        # Parquet is always compressed.
        capture, selection, out = job.capture, job.selection, job.out
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ModuleNotFoundError as error:
            raise ExportError(
                tr(
                    "{out}: Parquet needs pyarrow; install it with: {command}",
                    out=out,
                    command=install_command("parquet"),
                )
            ) from error
        types = COMMON | attribute_types(capture, kinds_in(capture, selection))
        about = {"uuid": capture.uuid, "range_ns": selection.range_ns(capture)}
        schema = pa.schema(
            [pa.field(name, _arrow_type(pa, kind)) for name, kind in types.items()],
            metadata={"warpline": orjson.dumps(about).decode()},
        )
        report = job.counted(tr("writing events"))
        with replacing(out) as part, pq.ParquetWriter(part, schema, compression="zstd") as writer:
            group = _RowGroup(pa, schema)
            for _kind, count, columns in TableReader(capture, selection).batches():
                group.add(
                    [
                        _arrow(pa, columns[name], schema.field(name).type)
                        if name in columns
                        else pa.nulls(count, schema.field(name).type)
                        for name in types
                    ]
                )
                if group.rows >= _GROUP_ROWS:
                    writer.write_table(group.taken())
                report(count)
            if group.rows:
                writer.write_table(group.taken())
        return out


class _RowGroup:
    """Rows that wait to be written; parts of them are joined, since each costs 10 kB and a thread may have one row."""

    def __init__(self, pa: Any, schema: Any) -> None:
        self._pa = pa
        self._schema = schema
        self._parts: list[Any] = []
        self._joined: list[Any] = []
        self.rows = 0

    def add(self, arrays: list[Any]) -> None:
        """Add the columns of some rows."""
        part = self._pa.record_batch(arrays, schema=self._schema)
        self._parts.append(part)
        self.rows += part.num_rows
        if len(self._parts) >= _PARTS:
            self._join()

    def taken(self) -> Any:
        """The rows as one table; none wait any more."""
        self._join()
        table = self._pa.concat_tables(self._joined).combine_chunks()
        self._joined, self.rows = [], 0
        return table

    def _join(self) -> None:
        if self._parts:
            self._joined.append(self._pa.Table.from_batches(self._parts, self._schema).combine_chunks())
            self._parts = []


def _arrow_type(pa: Any, kind: str) -> Any:
    return (
        pa.string()
        if kind == "string"
        else pa.bool_()
        if kind == "bool"
        else pa.from_numpy_dtype(np.dtype(kind))
    )


def _arrow(pa: Any, column: CodedColumn, wanted: Any) -> Any:
    mask = None if column.valid is None else ~column.valid
    if column.texts is None:
        values = column.codes.astype(bool) if pa.types.is_boolean(wanted) else column.codes
        return pa.array(values, mask=mask).cast(wanted)
    codes = pa.array(column.codes.astype(np.int32), mask=mask)
    return pa.DictionaryArray.from_arrays(codes, pa.array(column.texts, pa.string())).cast(wanted)


exporter = ParquetExporter()
