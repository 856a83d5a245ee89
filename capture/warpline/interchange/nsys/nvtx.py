"""Converts NVTX ranges and marks, with domains, categories, colours and payloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.nsys.context import Context
from warpline.interchange.nsys.payloads import as_bytes, read_payloads
from warpline.interchange.nsys.tables.access import NULL, Batch, decode, groups
from warpline.model.torch_names import range_attributes, torch_names

CATEGORY, MARK, THREAD, PUSH_POP, START_END, DOMAIN, DOMAIN_DESTROY = 33, 34, 39, 59, 60, 75, 76
_DEFINITIONS = (CATEGORY, THREAD, DOMAIN, DOMAIN_DESTROY)

_INTEGER_PAYLOADS = ("uint64Value", "int64Value", "uint32Value", "int32Value")
_REAL_PAYLOADS = ("doubleValue", "floatValue")
_INTS = (
    "start",
    "end",
    "eventType",
    "category",
    "color",
    "globalTid",
    "endGlobalTid",
    "textId",
    "domainId",
    "jsonTextId",
    *_INTEGER_PAYLOADS,
)
_LOW = (1 << 24) - 1


_OfOperators = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint32]]


@dataclass
class _Definitions:
    """Names of domains (numbered per process) and categories (per process and domain)."""

    domains: dict[tuple[int, int], str] = field(default_factory=dict)
    categories: dict[tuple[int, int, int], int] = field(default_factory=dict)


def convert_nvtx(context: Context, table: str) -> None:
    """Adds push/pop ranges to threads; start/end ranges may overlap and go to processes."""
    definitions = _read_definitions(context, table)
    texts = _Texts(context)
    reals = _present(context, table, _REAL_PAYLOADS)
    ints = tuple(name for name in _INTS if name in _BASIC or name in context.tables.columns(table))
    for batch in context.batches(
        table, ints=ints, reals=reals, texts=_present(context, table, ("text", "jsonText", "binaryData"))
    ):
        kinds = batch["eventType"]
        names, of_operators = texts.names(batch)
        domain = np.where(batch["domainId"] == NULL, 0, batch["domainId"])
        for (kind, tid, domain_id), index in groups(kinds, batch["globalTid"], domain):
            if kind in _DEFINITIONS:
                continue
            if kind not in (PUSH_POP, START_END, MARK):
                context.builder.add_skipped(
                    table, len(index), english("NVTX events of an unknown type {kind}", kind=kind)
                )
                continue
            pid = context.process_of(tid)
            title = definitions.domains.get((pid, domain_id), "" if domain_id == 0 else f"domain {domain_id}")
            if kind == START_END:
                track = _process_track(context, tid, title)
            else:
                track = context.thread_ranges_track(tid, title)
            context.add(
                track,
                "range",
                batch["start"][index],
                None if kind == MARK else batch["end"][index],
                names[index],
                attributes={
                    **_attributes(context, batch, index, (pid, domain_id, title), definitions, texts),
                    **_of_operators(of_operators, index),
                },
                label=table,
            )
    context.builder.add_skipped(
        table, texts.undecoded, english("binary payloads without a schema in the file")
    )


_BASIC = ("start", "end", "eventType", "globalTid", "textId", "domainId")


def _present(context: Context, table: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that exist; reading a missing column costs as much as a real one."""
    have = context.tables.columns(table)
    return tuple(name for name in names if name in have)


def _read_definitions(context: Context, table: str) -> _Definitions:
    """Reads definitions before the ranges, because they may be anywhere in the table."""
    definitions = _Definitions()
    columns = ("eventType", "category", "globalTid", "textId", "domainId")
    wanted = (CATEGORY, THREAD, DOMAIN)
    for batch in context.tables.read(table, ints=columns, texts=("text",), only=("eventType", wanted)):
        for row in range(batch.rows):
            kind, category, tid, text_id, domain = (int(batch[name][row]) for name in columns)
            text = decode(batch.texts["text"][row]) or context.names.text(text_id)
            pid, domain = context.process_of(tid), max(domain, 0)
            if kind == DOMAIN:
                definitions.domains[pid, domain] = text
            elif kind == CATEGORY:
                definitions.categories[pid, domain, category] = context.builder.string(text)
            elif kind == THREAD and tid != NULL and text:
                context.name_thread(tid, text)
    return definitions


class _Texts:
    """Names and payloads of ranges as string ids."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[bytes | None, int] = {None: 0}
        self._payloads = read_payloads(context.tables)
        self._binary: dict[bytes, int] = {}
        self.undecoded = 0

    def binary(self, cells: Sequence[bytes | None]) -> npt.NDArray[np.uint32]:
        """String ids of binary payloads as JSON; 0 for none or undecodable ones."""
        known = self._binary
        for cell in set(cells).difference(known):
            if cell is not None:
                text = self._payloads.text(as_bytes(cell)) if cell else None
                known[cell] = 0 if text is None else self._context.builder.string(text)
        ids = np.array([0 if cell is None else known[cell] for cell in cells], np.uint32)
        self.undecoded += len(cells) - cells.count(None) - int(np.count_nonzero(ids))
        return ids

    def names(self, batch: Batch) -> tuple[npt.NDArray[np.uint32], _OfOperators | None]:
        """Names from ``text``, else ``textId``; and what PyTorch appended to names of operators, None for nothing."""
        of_texts = batch["textId"]
        numbers, inverse = np.unique(of_texts, return_inverse=True)
        candidates = [self._context.names.text(number) for number in numbers.tolist()]
        own = batch.texts.get("text")
        if own is not None and own.count(None) != len(own):
            places = {text: len(candidates) + index for index, text in enumerate(dict.fromkeys(own))}
            candidates += [decode(text) for text in places]
            has_own = np.fromiter((bool(text) for text in own), bool, len(own))
            inverse = np.where(
                has_own, np.fromiter(map(places.__getitem__, own), np.int64, len(own)), inverse
            )
        texts = torch_names(candidates)
        ids = self._context.builder.strings(texts.names)[inverse]
        if not (texts.sequence >= 0).any() and not (texts.call >= 0).any() and not any(texts.sizes):
            return ids, None
        sizes = self._context.builder.strings(texts.sizes)
        return ids, (texts.sequence[inverse], texts.call[inverse], sizes[inverse])

    def ids(self, texts: Sequence[bytes | None]) -> npt.NDArray[np.uint32]:
        """String ids of texts; 0 for none."""
        known = self._known
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            ids = self._context.builder.strings([decode(text) for text in new])
            known.update(zip(new, ids.tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, texts), np.uint32, len(texts))


def _of_operators(columns: _OfOperators | None, index: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Attributes of operators' ranges."""
    if columns is None:
        return {}
    sequence, call, sizes = columns
    return {**range_attributes(sequence[index], call[index], sizes[index])}


def _attributes(
    context: Context,
    batch: Batch,
    index: npt.NDArray[np.int64],
    domain: tuple[int, int, str],
    definitions: _Definitions,
    texts: _Texts,
) -> dict[str, Any]:
    pid, domain_id, title = domain
    attributes: dict[str, Any] = {}
    if title:
        attributes["domain"] = np.full(len(index), context.builder.string(title), np.uint32)
    if "category" in batch.ints:
        category = batch["category"][index]
        names = np.zeros(len(index), np.uint32)
        for number in np.unique(category[(category != NULL) & (category != 0)]).tolist():
            known = definitions.categories.get((pid, domain_id, number))
            names[category == number] = context.builder.string(str(number)) if known is None else known
        if names.any():
            attributes["category"] = np.ma.MaskedArray(names, names == 0)
    if "color" in batch.ints and ((color := batch["color"][index]) != NULL).any():
        attributes["color_argb"] = np.ma.MaskedArray(
            np.where(color == NULL, 0, color & 0xFFFF_FFFF), color == NULL
        )
    if "endGlobalTid" in batch.ints:
        end = batch["endGlobalTid"][index]
        elsewhere = (end != NULL) & (end != batch["globalTid"][index])
        if elsewhere.any():
            attributes["end_thread"] = np.ma.MaskedArray(np.where(elsewhere, end & _LOW, 0), ~elsewhere)
    payload = _payload(context, batch, index, texts)
    if payload.any():
        attributes["payload"] = np.ma.MaskedArray(payload, payload == 0)
    return attributes


def _payload(
    context: Context, batch: Batch, index: npt.NDArray[np.int64], texts: _Texts
) -> npt.NDArray[np.uint32]:
    """String ids of payloads, 0 for none: a number, or JSON."""
    payload = np.zeros(len(index), np.uint32)
    for name in _INTEGER_PAYLOADS:
        values = batch.ints.get(name)
        if values is None:
            continue
        values = values[index]
        has_value = values != NULL
        if has_value.any():
            unique, inverse = np.unique(values[has_value], return_inverse=True)
            is_unsigned = name == "uint64Value"
            numbers = (str(number % (1 << 64) if is_unsigned else number) for number in unique.tolist())
            payload[has_value] = context.builder.strings(numbers)[inverse.reshape(-1)]
    for name, reals in batch.reals.items():
        values_of = reals[index]
        has_value = ~np.isnan(values_of)
        if has_value.any():
            digits = 9 if name == "floatValue" else 17
            unique_reals, inverse = np.unique(values_of[has_value], return_inverse=True)
            numbers = (f"{number:.{digits}g}" for number in unique_reals.tolist())
            payload[has_value] = context.builder.strings(numbers)[inverse.reshape(-1)]
    if "jsonTextId" in batch.ints:
        has_value = batch["jsonTextId"][index] != NULL
        if has_value.any():
            payload[has_value] = context.names.strings(batch["jsonTextId"][index][has_value])
    json = batch.texts.get("jsonText")
    if json is not None and json.count(None) != len(json):
        own = texts.ids([json[row] for row in index.tolist()])
        payload = np.where(own == 0, payload, own)
    binary = batch.texts.get("binaryData")
    if binary is not None and binary.count(None) != len(binary):
        own = texts.binary([binary[row] for row in index.tolist()])
        payload = np.where(own == 0, payload, own)
    return payload


def _process_track(context: Context, tid: int, domain: str) -> int:
    global_pid = context.process_of(max(tid, 0))
    uri = context.process_uri(global_pid)
    return context.track(context.specs.process_ranges(uri, domain), uri, context.process(global_pid))
