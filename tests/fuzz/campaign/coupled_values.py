"""Columns of a capture that are each sound and wrong together."""

from __future__ import annotations

import random

import h5py
import numpy as np


def coupled(file: h5py.File, name: str, rng: random.Random) -> None:
    """Values that pass the directory checks and are wrong together."""
    kind = rng.randrange(8)
    events = "events/start" in file and "events/duration" in file
    if kind == 0 and events:
        file["events/start"][...] = np.full(
            len(file["events/start"]), rng.choice([2**63 - 1, -(2**63), 2**62 - 1, -(2**62)])
        )
        file["events/duration"][...] = np.full(
            len(file["events/duration"]), rng.choice([2**63 - 1, -(2**63), 2**62])
        )
    elif kind == 1 and "tracks/parent" in file:
        n = len(file["tracks/parent"])
        file["tracks/parent"][...] = np.clip(np.arange(n) - 1, -1, 62)
    elif kind == 2 and "strings/offset" in file:
        n = len(file["strings/offset"])
        total = len(file["strings/data"])
        file["strings/offset"][...] = np.tile([0, total], n)[:n].astype("<u8")
    elif kind == 3 and "lanes/first" in file:
        n = len(file["lanes/first"])
        total = len(file["events/start"])
        if n and total >= n:
            cuts = (
                np.sort(
                    np.random.default_rng(rng.randrange(1 << 30)).choice(
                        np.arange(1, total), n - 1, replace=False
                    )
                )
                if n > 1
                else np.empty(0, int)
            )
            first = np.r_[0, cuts]
            file["lanes/first"][...] = first
            file["lanes/count"][...] = np.diff(np.r_[first, total])
    elif kind == 4 and "clocks/offset" in file:
        file["clocks/offset"][...] = rng.choice([2**62 - 1, -(2**62) + 1, 2**61])
    elif kind == 5 and "strings/data" in file:
        data = file["strings/data"]
        payload = rng.choice([b"\xff", b"\x00", b"\x1b[2J", "\u202e".encode(), b"<b>", b"9", b"\n"])
        data[...] = np.frombuffer((payload * (len(data) // len(payload) + 1))[: len(data)], np.uint8)
    elif kind == 6 and "counters/count" in file and len(file["counters/count"]):
        file["counters/interpolation"][...] = rng.choice([0, 1, 2, 255])
        file["counters/time"][...] = file["counters/time"][:][::-1]
    elif "utilization/level" in file and len(file["utilization/level"]):
        file["utilization/level"][...] = rng.choice([0, 1, 30, 62, 63, 255])
        file["utilization/origin"][...] = rng.choice([0, 1, -1, 2**62, -(2**62), 2**31])
