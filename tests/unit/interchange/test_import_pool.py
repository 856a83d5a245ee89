"""Decoding in other processes gives what decoding here gives, and survives their end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.interchange.import_tools import x

from warpline.interchange.trace_json import pool as trace_pool
from warpline.interchange.trace_json.piece_columns import Piece


def texts(count: int) -> Iterator[bytes]:
    for piece in range(count):
        events = [
            x(
                f"op {piece} {n}",
                piece * 100 + n,
                1,
                cat="cpu_op",
                args={"External id": n, "Input Dims": [[n]]},
            )
            for n in range(50)
        ]
        yield json.dumps([*events, {"ph": "M", "name": "thread_name", "args": {"name": "t"}}, None]).encode()


def content(piece: Piece) -> dict[str, Any]:
    group = piece.groups["operator"]
    return {
        "events": piece.events,
        "losses": dict(piece.losses),
        "metadata": piece.metadata,
        "names": [group.name.table[code] for code in group.name.codes],
        "start": group.start.tolist(),
        "external": np.ma.getdata(group.numbers["external"]).tolist(),
        "shapes": [group.texts["shapes"].table[code] for code in group.texts["shapes"].codes],
    }


def test_pieces_come_in_order_and_are_the_same() -> None:
    here = [content(piece) for piece in trace_pool.pieces(texts(9), "torch", workers=0)]
    there = [content(piece) for piece in trace_pool.pieces(texts(9), "torch", workers=2)]
    assert there == here
    assert here[8]["names"][0] == "op 8 0"


def test_a_killed_process_costs_nothing_but_time(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    found = []
    for piece in trace_pool.pieces(texts(12), "torch", workers=2):
        found.append(content(piece))
        if len(found) == 3:
            for process in started:
                process.kill()
    assert found == [content(piece) for piece in trace_pool.pieces(texts(12), "torch", workers=0)]
    assert all(process.poll() is not None for process in started)


def test_leaving_early_ends_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    columns = trace_pool.pieces(texts(50), "chrome", workers=2)
    for _ in range(4):
        next(columns)
    columns.close()
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)
