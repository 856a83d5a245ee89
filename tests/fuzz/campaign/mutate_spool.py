"""Spool directories as a crash, a bad disk or an enemy may leave them."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from pathlib import Path
from typing import Any

VALUES: tuple[Any, ...] = (
    None,
    -1,
    0,
    2**63 - 1,
    2**64,
    1e300,
    "",
    "x",
    [],
    {},
    ["a"],
    True,
    "/",
    "/nonexistent/x.h5",
    "\x00",
    "../../x",
)


def _spool_file(path: Path, rng: random.Random) -> str:
    data = bytearray(path.read_bytes())
    kind = rng.randrange(6)
    if kind == 0:
        for _ in range(rng.choice([1, 5, 50])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:  # a chunk header
        pages = [at for at in range(4096, len(data) - 64, 4096) if data[at : at + 4] == b"CHNK"]
        for at in rng.sample(pages, min(len(pages), rng.choice([1, 3]))):
            field, size = rng.choice([(4, 4), (8, 4), (12, 4), (16, 8), (24, 8), (32, 8)])
            value = rng.choice(
                [0, 1, 8, 40, 64, 4096, 5000, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(data)]
            ) % (1 << (8 * size))
            struct.pack_into("<I" if size == 4 else "<Q", data, at + field, value)
    elif kind == 3:  # payloads: extreme numbers at aligned places of a chunk
        pages = [at for at in range(4096, len(data) - 64, 4096) if data[at : at + 4] == b"CHNK"]
        for at in rng.sample(pages, min(len(pages), 2)):
            (committed,) = struct.unpack_from("<Q", data, at + 24)
            room = min(committed, len(data) - at - 64)
            for _ in range(rng.choice([1, 10, 100])):
                if room >= 8:
                    place = at + 64 + 4 * rng.randrange(room // 4 - 1)
                    struct.pack_into(
                        "<I", data, place, rng.choice([0, 1, 2**31, 2**32 - 1, rng.randrange(1 << 32)])
                    )
    elif kind == 4:  # pages swapped, doubled, zeroed
        pages = list(range(4096, len(data) - 4095, 4096))
        if pages:
            a, b = rng.choice(pages), rng.choice(pages)
            data[a : a + 4096] = rng.choice([bytes(4096), data[b : b + 4096], b"\xff" * 4096])
    else:
        data[: rng.choice([8, 64, 4096])] = rng.randbytes(8)
    path.write_bytes(data)
    return f"file{kind}"


def _session(path: Path, rng: random.Random) -> str:
    document = json.loads(path.read_text())
    for _ in range(rng.randint(1, 3)):
        target = document if rng.random() < 0.6 else document.get("options", document)
        if not isinstance(target, dict) or not target:
            target = document
        key = rng.choice([*target, "new_key"])
        if rng.random() < 0.15:
            target.pop(key, None)
        else:
            target[key] = rng.choice(VALUES)
    text = json.dumps(document)
    if rng.random() < 0.15:
        text = rng.choice(["", "{", "[]", "null", text[: len(text) // 2], "[" * 100_000])
    path.write_text(text)
    return "session"


def _odd_file(folder: Path, rng: random.Random) -> str:
    names = [entry.name for entry in folder.iterdir() if entry.name.endswith(".spool")]
    name = rng.choice([*names, "agent.1.2.spool", "perf.spool", "x.spool", "python.3.4.spool"])
    path = folder / name
    kind = rng.randrange(6)
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif path.exists() or path.is_symlink():
        path.unlink()
    if kind == 0:
        path.symlink_to(
            rng.choice(
                ["/etc/passwd", "/dev/zero", str(path), "/proc/self/mem", str(folder / (names or ["x"])[0])]
            )
        )
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.mkdir()
    elif kind == 3:
        path.write_bytes(b"")
    elif kind == 4:
        path.touch()
        path.chmod(0)
    else:
        with path.open("wb") as file:
            file.write(b"WLSPOOL1")
            file.truncate(rng.choice([4096, 1 << 20, 1 << 26]))
    return f"odd{kind}"


def mutate(seed: Path, target: Path, rng: random.Random) -> str:
    """Make a hostile copy of a spool directory; returns what was done."""
    shutil.copytree(seed, target, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))
    done = []
    for _ in range(rng.choice([1, 1, 2, 4])):
        files = [
            entry
            for entry in target.iterdir()
            if entry.name.endswith(".spool")
            and entry.is_file()
            and not entry.is_symlink()
            and entry.stat().st_size > 4200
        ]
        choice = rng.random()
        if choice < 0.65 and files:
            done.append(_spool_file(rng.choice(files), rng))
        elif choice < 0.85 and (target / "session.json").exists():
            try:
                done.append(_session(target / "session.json", rng))
            except (ValueError, TypeError, OSError, AttributeError, RecursionError):
                pass
        else:
            done.append(_odd_file(target, rng))
    return "+".join(done)
