"""Writes output files that appear complete or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from warpline.output_places import is_no_file
from warpline.platform.files import OPEN_FLAGS, replace

_GZIP_LEVEL = 4
"""Twice as fast as the default; files are a few percent larger."""


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A temporary path beside ``out``; renamed to ``out`` at the end, removed after an error.

    Pipes and devices such as ``/dev/stdout`` are written directly.
    """
    if is_no_file(out):
        yield out
        return
    # An unpredictable name, created exclusively: nobody can plant a link there.
    part = out.with_name(f".warpline-{uuid4().hex}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o666))
    except OSError as error:  # report the name that the user knows
        raise OSError(error.errno, error.strerror, str(out)) from error
    try:
        yield part
        replace(part, out)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing(out: Path) -> Iterator[BinaryIO]:
    """A binary file that becomes ``out`` when complete, compressed if the name ends in ``.gz``."""
    with replacing(out) as part, part.open("wb") as raw:
        if out.name.lower().endswith(".gz"):
            # A fixed time makes equal exports equal files.
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]  # a GzipFile is writable like any file
        else:
            yield raw
