"""One archive of what the checks left, of bounded size, that can be read after every file added to it."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

MOST_BYTES = 12 << 20
"""With `checks.json` and `checks.log`, less than 16 MiB come back."""
MOST_OF_A_FILE = 4 << 20
MOST_OF_RAW = 1 << 20
_END = gzip.compress(bytes(2 * tarfile.BLOCKSIZE), mtime=0)


class Evidence:
    """A ``.tar.gz`` with a gzip member for each file, so that it can grow without being written again.

    Each check gets the same share of the space; what one leaves unused goes to those after it.
    """

    def __init__(self, path: Path, checks: int, most_bytes: int = MOST_BYTES) -> None:
        self.path = path
        self._share = (most_bytes - len(_END)) // max(checks, 1)
        self._allowed = 0
        self._used = 0
        path.write_bytes(_END)

    def add_check(self, folder: Path) -> list[str]:
        """Add a check's files, raw buffers first, then the smallest; returns what had no room, with sizes."""
        self._allowed += self._share
        left_out = []
        files = [path for path in folder.rglob("*") if path.is_file()]
        for path in files:
            if path.suffix == ".raw":
                shorten_raw(path, MOST_OF_RAW)
        for path in sorted(files, key=lambda path: (path.suffix != ".raw", path.stat().st_size)):
            size = path.stat().st_size
            if size > MOST_OF_A_FILE or not self.add(
                f"{folder.name}/{path.relative_to(folder)}", path.read_bytes()
            ):
                left_out.append(f"{path.name} ({size:,} bytes)")
        return left_out

    def add(self, name: str, data: bytes) -> bool:
        """Add a file; returns False when it has no room."""
        header = tarfile.TarInfo(name)
        header.size = len(data)
        header.mode = 0o644
        block = io.BytesIO()
        with tarfile.open(fileobj=block, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(header, io.BytesIO(data))
            size = archive.offset  # without the two empty blocks at the end
        member = gzip.compress(block.getvalue()[:size], compresslevel=6, mtime=0)
        if self._used + len(member) > self._allowed:
            return False
        with self.path.open("r+b") as file:
            file.seek(self._used)
            file.write(member + _END)
        self._used += len(member)
        return True


def shorten_raw(path: Path, most_bytes: int) -> None:
    """Keep the first whole activity buffers of a raw file: each follows its size (u64, little-endian)."""
    size = path.stat().st_size
    if size <= most_bytes:
        return
    end = 0
    with path.open("r+b") as file:
        while header := file.read(8):
            following = file.tell() + int.from_bytes(header, "little")
            if following > min(size, most_bytes):
                break
            end = file.seek(following)
        file.truncate(end)
