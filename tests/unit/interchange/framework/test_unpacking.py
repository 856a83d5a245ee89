"""Packed files give everything before the place where they end or are damaged."""

from __future__ import annotations

import gc
import gzip
import io
import random
import struct
import weakref
import zipfile
import zlib
from functools import cache, partial
from pathlib import Path

import pytest

from warpline.interchange.framework import unpacking
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, unpacked
from warpline.model import ImportFormatError

LOST = 256 << 10
"""Bytes that may be lost before damage."""


@pytest.fixture(params=["isal", "zlib"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What unpacks."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(unpacking, "inflate", zlib)
    return str(request.param)


@cache
def content(size: int = 3 << 20) -> bytes:
    rng = random.Random(7)
    words = [
        b'{"ph":"X","name":"op %d","ts":%d},\n' % (rng.randrange(50), rng.randrange(1 << 40))
        for _ in range(size // 32)
    ]
    return b"".join(words)[:size]


@cache
def packed_content() -> bytes:
    """As a gzip file."""
    return gzip.compress(content())


def read_all(packed: bytes, step: int = 100_000) -> tuple[bytes, BaseException | None]:
    """What could be read, and the error at the end."""
    stream = unpacked(io.BytesIO(packed), Path("trace.json.gz"))
    parts: list[bytes] = []
    try:
        while part := stream.read(step):
            parts.append(part)
    except UNPACKING_ERRORS as error:
        return b"".join(parts), error
    return b"".join(parts), None


def before_the_damage(packed: bytes) -> int:
    """The most that can be unpacked of a gzip file, a few bytes at a time."""
    unpacker = zlib.decompressobj(31)
    size = 0
    try:
        for at in range(0, len(packed), 16):
            size += len(unpacker.decompress(packed[at : at + 16]))
    except zlib.error:
        pass
    return size


@pytest.mark.parametrize("step", [1, 7, 65_536, 1 << 23])
def test_reads_of_any_size_give_the_whole_content(step: int) -> None:
    text = content(2_000 if step < 100 else 3 << 20)
    assert read_all(gzip.compress(text), step) == (text, None)


def test_several_members_are_one_file_and_padding_ends_it() -> None:
    first, second = content(300_000), b"second"
    packed = gzip.compress(first) + gzip.compress(second) + gzip.compress(b"")
    assert read_all(packed) == (first + second, None)
    assert read_all(packed + b"\0" * 512) == (first + second, None)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.999])
def test_a_truncated_file_gives_everything_before_its_end(share: float) -> None:
    text = content()
    packed = packed_content()
    packed = packed[: int(len(packed) * share)]
    found, error = read_all(packed)
    assert isinstance(error, EOFError)
    assert found == zlib.decompressobj(31).decompress(packed)
    assert text.startswith(found)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_damaged_file_gives_nearly_everything_before_the_damage(share: float) -> None:
    packed = bytearray(packed_content())
    at = int(len(packed) * share)
    packed[at : at + 64] = b"\xff" * 64
    found, error = read_all(bytes(packed))
    assert error is not None
    assert len(found) >= before_the_damage(bytes(packed)) - LOST


def test_a_reader_is_freed_at_once_after_an_error(request: pytest.FixtureRequest) -> None:
    packed = bytearray(gzip.compress(content(1 << 20)))
    packed[len(packed) // 2 :] = random.Random(1).randbytes(len(packed) - len(packed) // 2)
    request.addfinalizer(gc.enable)
    gc.disable()
    for data in (packed, packed[: len(packed) // 2]):
        stream = unpacked(io.BytesIO(data), Path("trace.json.gz"))
        alive = weakref.ref(stream)
        for _again in range(2):
            with pytest.raises(UNPACKING_ERRORS):
                list(iter(partial(stream.read, 1 << 16), b""))
        del stream
        assert alive() is None


def test_a_gzip_file_with_a_wrong_checksum_fails_after_its_content() -> None:
    text = content()
    found, error = read_all(packed_content()[:-8] + bytes(8))
    assert error is not None
    assert text.startswith(found)
    assert len(found) >= len(text) - LOST


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@cache
def archive(method: int) -> bytes:
    """A zip file of three members, of which the largest is the content; LZMA takes a second to pack it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, text in (("readme.txt", b"no"), ("trace.json", content()), ("last", b"x" * 9)):
            made.writestr(name, text)
    return file.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA])
def test_the_largest_member_of_an_archive_is_read(method: int) -> None:
    assert read_all(archive(method)) == (content(), None)


def test_a_damaged_member_gives_everything_before_the_damage(tmp_path: Path) -> None:
    text = content()
    packed = bytearray(zipped(tmp_path / "trace.zip", {"trace.json": text}).read_bytes())
    packed[len(packed) // 2 : len(packed) // 2 + 64] = b"\xff" * 64
    found, error = read_all(bytes(packed))
    assert error is not None
    quarter = len(text) // 4
    assert found[:quarter] == text[:quarter]


def test_a_zip_member_with_a_wrong_checksum_fails_after_its_content(tmp_path: Path) -> None:
    text = content(100_000)
    packed = bytearray(zipped(tmp_path / "trace.zip", {"trace.json": text}).read_bytes())
    entry = packed.index(b"PK\x01\x02")
    struct.pack_into("<I", packed, entry + 16, 12345)
    found, error = read_all(bytes(packed))
    assert (found, str(error)) == (text, "Bad CRC-32 for file 'trace.json'")


def test_a_zip_directory_with_wrong_offsets_is_a_one_line_error(tmp_path: Path) -> None:
    packed = bytearray(zipped(tmp_path / "trace.zip", {"trace.json": content(1000)}).read_bytes())
    packed[0:4] = b"PK\x03\x04"
    entry = packed.index(b"PK\x01\x02")
    struct.pack_into("<I", packed, entry + 42, entry)
    with pytest.raises(ImportFormatError, match="not where the directory says"):
        unpacked(io.BytesIO(bytes(packed)), Path("trace.zip"))
