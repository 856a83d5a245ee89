"""Archives of traces: zip, tar and what packs one file, wrong in their directories."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

from tests.fuzz.campaign.mutate_json import TOKENS
from tests.fuzz.guided.target import Differs, Target, scratch

from warpline.interchange.framework.bundles import traces_of
from warpline.interchange.framework.detection import detect

_TRACE = b'{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}]}'
_NAMES = (
    "a.json",
    "b/c.json",
    "../../e.json",
    "/etc/x",
    "a/",
    "",
    "tr\u00e4ce.json",
    "\x1b[2J",
    "x" * 300,
    "a\nb",
    "..",
)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
_PACKED: tuple[Callable[[bytes], bytes], ...] = (gzip.compress, bz2.compress, lzma.compress, bytes)
_MARKS = (
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"ustar",
    b" path=",
    b"\0\0\0",
)
_NUMBERS = (b"\0", b"\xff", b"\xff\xff", b"\xff" * 4, b"\0" * 4, b"\x80", b"\x01", b"9" * 12, b"-1")


def run(data: bytes) -> None:
    """Unpack what is a bundle, and say of what format each file in it is; nothing is written elsewhere or left."""
    path = scratch() / "x.bin"
    path.write_bytes(data)
    folder = scratch() / "unpacked"
    folder.mkdir(exist_ok=True)
    with mock.patch.object(tempfile, "tempdir", str(folder)):
        try:
            with traces_of([path], lambda: False) as found:
                for one in found:
                    if one != path and not one.resolve().is_relative_to(folder.resolve()):
                        raise Differs(f"unpacked to {one}")
                    detect(one)
        finally:
            if any(folder.iterdir()):
                raise Differs("files are left")


def _zip(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in rng.sample(_NAMES, rng.randint(0, 3)):
            method = rng.choice(_METHODS)
            entry = zipfile.ZipInfo(name)
            archive.writestr(entry, rng.choice((_TRACE, b"", b"\0" * 5000)), method)
        archive.comment = rng.choice((b"", b"x" * 40))
    return out.getvalue()


def _tar(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=rng.choice(_FORMATS)) as archive:
        for _ in range(rng.randint(0, 3)):
            entry = tarfile.TarInfo(rng.choice(_NAMES))
            entry.size, entry.type = (
                len(_TRACE),
                rng.choice((b"0", b"0", b"0", b"1", b"2", b"6", b"5", b"S", b"x")),
            )
            entry.linkname = rng.choice(_NAMES)
            if rng.random() < 0.3:
                entry.pax_headers = {
                    rng.choice(("path", "size", "GNU.sparse.map", "\xe4")): rng.choice(
                        ("1e9", "-1", "9" * 30, "\xe4")
                    )
                }
            archive.addfile(entry, io.BytesIO(_TRACE))
    return rng.choice(_PACKED)(out.getvalue())


def _mutate(data: bytes, rng: random.Random) -> bytes:
    """Another archive, or numbers near a mark of a directory changed."""
    if rng.random() < 0.2:
        with suppress(UnicodeError):
            data = rng.choice((_zip, _tar))(rng)
    out = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        mark = rng.choice(_MARKS)
        places = [at for at in range(len(out)) if out.startswith(mark, at)] if len(out) < 6000 else []
        at = min(len(out), rng.choice(places or [0]) + rng.randrange(60))
        value = rng.choice((*_NUMBERS, rng.choice(TOKENS)[:64]))
        out[at : at + len(value)] = value
    return bytes(out)


def _seeds(_data: Path | None) -> list[bytes]:
    return [make(random.Random(number)) for make in (_zip, _tar) for number in range(12)]


TARGETS = (Target("archives", run, _seeds, _mutate, _MARKS, most_bytes=20480),)
