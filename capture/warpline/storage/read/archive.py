"""Expands a capture in the archive form (compressed columns) into the working form (mapped columns)."""

from __future__ import annotations

import os
from pathlib import Path

from warpline.model import StorageError
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.storage.cache import ConversionCache
from warpline.storage.columns.disk_space import disk_error, missing_space
from warpline.storage.columns.mapped_file import MappedFile

IN_MEMORY_BYTES = 64 << 20
"""Smaller archives are decoded into memory when they are opened, larger ones into the cache."""

_PIECE = 1 << 20


def working_file(
    path: Path,
    cache: ConversionCache | None = None,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Path:
    """The file to map: the capture itself, or the working form of a large archive in the user's cache.

    Raises CaptureFormatError, StorageError when the disk is full, Cancelled.
    """
    with MappedFile(path) as file:
        if not file.is_compressed("events/start") or sum(file.stored_sizes().values()) <= IN_MEMORY_BYTES:
            return path
    return (cache or ConversionCache()).get(
        [path],
        "archive",
        lambda target, say, stop: expand_archive(path, target, say, stop),
        progress,
        cancelled,
    )


def expand_archive(
    source: Path, target: Path, progress: Progress | None = None, cancelled: IsCancelled | None = None
) -> None:
    """Writes the working form of an archive to ``target``, in pieces of bounded size.

    Raises CaptureFormatError for a damaged source, StorageError when the disk is full, Cancelled.
    """
    from warpline.storage.columns.new_file import new_file

    with MappedFile(source) as file:
        sizes = file.stored_sizes()
        total = sum(sizes.values())
        if missing := missing_space(target.parent, total, f"to open {source.name}"):
            raise StorageError(f"{target.parent}: {missing}")
        try:
            with new_file(target, overwrite=True) as (out, room):
                file.copy_attributes("", out)
                for group in file.groups():
                    file.copy_attributes(group, out.require_group(group))
                done = 0
                for path, nbytes in sizes.items():
                    column = file.dataset(path)
                    room.reserve(nbytes)
                    copy = out.create_dataset(path, column.shape, column.dtype)
                    for first in range(0, len(column), _PIECE):
                        check_cancelled(cancelled, f"{source}: opening was cancelled")
                        if progress is not None:
                            share = nbytes * first / max(1, len(column))
                            progress((done + share) / max(1, total), f"unpacking {source.name}")
                        copy[first : first + _PIECE] = file.read_piece(path, first, first + _PIECE)
                    done += nbytes
                    file.copy_attributes(path, copy)
            with target.open("r+b") as made:
                os.fsync(made.fileno())
        except OSError as error:
            raise disk_error(target, error) from error
