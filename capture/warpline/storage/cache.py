"""The one cache of converted working files: expanded archives and captures made from files of other profilers."""

from __future__ import annotations

import contextlib
import glob
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from warpline.model import CaptureFormatError, StorageError
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.platform.files import FileInUseError, replace
from warpline.platform.folders import cache_folder
from warpline.storage.columns.mapped_file import MappedFile
from warpline.storage.columns.schema import MINOR_VERSION, VERSION

Convert = Callable[[Path, Progress, IsCancelled], object]

DEFAULT_MAX_BYTES = 20 << 30

_LIMIT_FILE = "limit"
_SAMPLE_BYTES = 1 << 16
_ABANDONED_SECONDS = 24 * 3600


@contextlib.contextmanager
def whole_or_absent(place: Path) -> Iterator[Path]:
    """Yield a temporary name beside ``place``. On success it is renamed to ``place``, otherwise removed; leftovers of
    killed processes are removed, too. Raises OSError.
    """
    making = place.with_name(f"{place.stem}.{uuid.uuid4().hex[:8]}.making")
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for leftover in place.parent.glob(f"{glob.escape(place.stem)}.*.making"):
            with contextlib.suppress(OSError):
                if leftover.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                    leftover.unlink()
        yield making
        with contextlib.suppress(FileInUseError):  # an equal file is there, and another process reads it
            replace(making, place)
    finally:
        with contextlib.suppress(OSError):
            making.unlink(missing_ok=True)


class ConversionCache:
    """Working files by the content they were made from. Processes may use it at the same time.

    An entry is written under a name of its own and renamed, so it is whole or absent. Once the entries take more
    than ``max_bytes``, the least recently used go; the newest one stays whatever its size. Without a number, the
    limit is the one that `set_limit` stored for this user.
    """

    def __init__(self, folder: Path | None = None, max_bytes: int | None = None) -> None:
        self.folder = cache_folder() / "captures" if folder is None else folder
        self.max_bytes = self._stored_limit() if max_bytes is None else max_bytes

    def _stored_limit(self) -> int:
        try:
            limit = int((self.folder / _LIMIT_FILE).read_text("ascii"))
        except (OSError, ValueError):
            return DEFAULT_MAX_BYTES
        return limit if limit >= 0 else DEFAULT_MAX_BYTES

    def set_limit(self, max_bytes: int) -> None:
        """Limit the cache in every process of this user, and evict what exceeds the limit now.

        Raises StorageError when the limit cannot be stored.
        """
        try:
            with whole_or_absent(self.folder / _LIMIT_FILE) as making:
                making.write_text(str(max_bytes), "ascii")
        except OSError as error:
            raise StorageError(
                f"{self.folder}: the limit cannot be stored: {error.strerror or error}"
            ) from error
        self.max_bytes = max_bytes
        self._evict()

    def get(
        self,
        sources: Sequence[Path],
        converter: str,
        convert: Convert,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Path:
        """The capture made from ``sources``, from the cache or by ``convert(target, progress, cancelled)``.

        ``converter`` names what converts, its version and options: another name makes another entry. Raises
        StorageError when the cache cannot be written, Cancelled, and what ``convert`` raises.
        """
        target = self.path_of(sources, converter)
        if self._is_sound(target):
            with contextlib.suppress(OSError):
                # Update only the access time: readers recognise an unchanged file by its modification time.
                os.utime(target, ns=(time.time_ns(), target.stat().st_mtime_ns))
            return target
        try:
            with whole_or_absent(target) as making:
                convert(making, progress or unwatched, cancelled or never)
                check_cancelled(cancelled, f"{sources[0]}: opening was cancelled")
        except OSError as error:
            raise StorageError(
                f"{error.filename or self.folder}: the cache of converted captures cannot be written: "
                f"{error.strerror or error}; free some space or set XDG_CACHE_HOME to another place"
            ) from error
        self._evict(keep=target)
        return target

    def holds(self, path: Path | str) -> bool:
        """Whether a file is one of the cache's own."""
        return Path(path).parent == self.folder

    def path_of(self, sources: Sequence[Path], converter: str) -> Path:
        """Where the capture made from these files is or would be.

        The name is a fingerprint of their paths, sizes, times of change, first and last 64 KiB, and the converter.
        Raises CaptureFormatError when a file cannot be read.
        """
        from hashlib import blake2b  # loads OpenSSL, which opening a capture does without

        digest = blake2b(f"{VERSION}.{MINOR_VERSION}\0{converter}".encode(), digest_size=16)
        for source in sources:
            try:
                status = source.stat()
                place = f"\0{source.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0"
                digest.update(place.encode("utf-8", "surrogateescape"))
                with source.open("rb") as file:
                    digest.update(file.read(_SAMPLE_BYTES))
                    file.seek(max(0, status.st_size - _SAMPLE_BYTES))
                    digest.update(file.read(_SAMPLE_BYTES))
            except OSError as error:
                raise CaptureFormatError(f"{source}: cannot be read: {error.strerror or error}") from error
        return self.folder / f"{digest.hexdigest()}.h5"

    def discard(self, path: Path) -> None:
        """Remove an entry that turned out to be damaged."""
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)

    def size_bytes(self) -> int:
        """The entries' size on disk, in bytes."""
        return sum(size for _, size, _ in self._entries())

    def clear(self) -> int:
        """Removes every entry and returns the bytes freed. Captures open in a window stay usable where the system
        keeps removed files for those who have them open.
        """
        freed = 0
        for path, size, _ in self._entries():
            with contextlib.suppress(OSError):
                path.unlink()
                freed += size
        return freed

    def _is_sound(self, path: Path) -> bool:
        if not path.exists():
            return False
        try:
            MappedFile(path).close()
        except CaptureFormatError:
            self.discard(path)
            return False
        return True

    def _entries(self) -> list[tuple[Path, int, float]]:
        """Path, size and time of last use of each entry, those being made included."""
        entries = []
        for pattern in ("*.h5", "*.making"):
            for path in self.folder.glob(pattern):
                with contextlib.suppress(OSError):
                    status = path.stat()
                    entries.append((path, status.st_size, max(status.st_atime, status.st_mtime)))
        return entries

    def _evict(self, keep: Path | None = None) -> None:
        entries = sorted(self._entries(), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in entries)
        abandoned = time.time() - _ABANDONED_SECONDS
        for path, size, used in entries:
            is_made = path.suffix == ".h5"
            if (is_made and total > self.max_bytes and path != keep) or (not is_made and used < abandoned):
                self.discard(path)
                total -= size
