"""Reads files that are one JSON document, within a limit, or lines of text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from warpline.i18n import tr
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, Progress, check_cancelled

MAX_DOCUMENT_BYTES = 1 << 30
"""The largest document, unpacked. Decoding needs several times as much memory."""
MAX_LINE_BYTES = 1 << 22
_PART_BYTES = 1 << 22

_T = TypeVar("_T")


def read_content(path: Path, cancelled: IsCancelled, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The whole content, unpacked from gzip or zip.

    Raises ImportFormatError when it is damaged or larger than ``limit``, Cancelled.
    """
    parts: list[bytes] = []
    size = 0
    try:
        with path.open("rb") as raw:
            stream = unpacked(raw, path)
            while part := stream.read(_PART_BYTES):
                check_cancelled(cancelled)
                size += len(part)
                if size > limit:
                    raise ImportFormatError(
                        tr(
                            "{path}: more than {size} MB, too large to read at once",
                            path=path,
                            size=limit >> 20,
                        )
                    )
                parts.append(part)
    except UNPACKING_ERRORS as error:
        raise ImportFormatError(tr("{path}: cannot be read: {reason}", path=path, reason=error)) from error
    return b"".join(parts)


def read_document(path: Path, form: type[_T], cancelled: IsCancelled) -> _T:
    """The document as ``form``, a type of msgspec.

    Raises ImportFormatError when it is not JSON or does not fit, Cancelled.
    """
    content = read_content(path, cancelled)
    try:
        return msgspec.json.decode(content, type=form)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise ImportFormatError(
            tr("{path}: damaged, or not complete: {reason}", path=path, reason=error)
        ) from error


Document = dict[str, Any]
"""A document of any content."""


def text_lines(path: Path, progress: Progress, cancelled: IsCancelled) -> Iterator[str]:
    """The lines of a text, unpacked from gzip or zip, without their ends; UTF-8, or UTF-16 with its mark.

    In a damaged archive, everything before the damage is read. Lines longer than `MAX_LINE_BYTES` are cut.
    """
    size = max(1, path.stat().st_size)
    decode: Any = None
    rest = ""
    with path.open("rb") as raw:
        stream = unpacked(raw, path)
        while True:
            check_cancelled(cancelled)
            try:
                part = stream.read(_PART_BYTES)
            except UNPACKING_ERRORS:
                part = b""
            if decode is None:
                is_wide = part[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
                decode = codecs.getincrementaldecoder("utf-16" if is_wide else "utf-8-sig")("replace").decode
            text = rest + decode(part, not part)
            lines = text.split("\n")
            rest = lines.pop()
            if not part:
                lines.append(rest)
            elif len(rest) > MAX_LINE_BYTES:
                lines.append(rest[:MAX_LINE_BYTES])
                rest = ""
            for line in lines:
                yield line.removesuffix("\r")
            if not part:
                return
            progress(raw.tell() / size, path.name)
