"""Output files that appear complete or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from warpline.output_places import is_no_file

_GZIP_LEVEL = 4
"""Twice as fast as the default and a few per cent larger."""


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A path beside ``out`` to write to; renamed to ``out`` at the end, removed when anything goes wrong.

    What is no file, as a pipe or ``/dev/stdout``, is written to itself and stays.
    """
    if is_no_file(out):
        yield out
        return
    # Of a name nobody foresees, made by this process: no link that others put there is written through.
    part = out.with_name(f".warpline-{uuid4().hex}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except OSError as error:  # nobody knows the name that was tried
        raise OSError(error.errno, error.strerror, str(out)) from error
    try:
        yield part
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing(out: Path) -> Iterator[BinaryIO]:
    """A binary file that becomes ``out`` when it is complete, compressed when the name ends in ``.gz``."""
    with replacing(out) as part, part.open("wb") as raw:
        if out.name.lower().endswith(".gz"):
            # A fixed time makes equal exports equal files.
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]  # a GzipFile is written to like any file
        else:
            yield raw
