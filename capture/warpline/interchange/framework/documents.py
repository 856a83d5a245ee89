"""Reads files that are one JSON document, within a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from warpline.i18n import tr
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, check_cancelled

MAX_DOCUMENT_BYTES = 1 << 30
"""The largest document, unpacked. Decoding needs several times as much memory."""
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
