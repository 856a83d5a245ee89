"""Launches lead to their work in the same process: every process counts its correlation ids from one."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.cuda import records
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture

START = 1_000_000
PROCESS_FIELD = 12
"""Where a spool file says whose it is (docs/spool.md)."""


def process(folder: Path, pid: int, delay_ns: int, uuid: bytes = b"") -> None:
    """A process with three calls and, in another order, their kernels; all of them later by ``delay_ns``.

    It calls its only GPU 0, and says which one that is if ``uuid`` is given.
    """
    path = folder / f"agent.{pid}.1.spool"
    writer = SpoolWriter(path, "agent")
    session = np.zeros(1, records.cupti_session)
    writer.append(records.CUPTI_SESSION, session)
    if uuid:
        device = np.zeros(1, records.cupti_device)
        device["uuid"] = np.frombuffer(uuid.ljust(16, b"\0"), np.uint8)
        device["name"] = writer.string("H100")
        writer.append(records.CUPTI_DEVICE, device)
    calls = np.zeros(3, records.cupti_api)
    calls["correlation"], calls["tid"], calls["function"] = [1, 2, 3], pid, 211
    calls["start_ns"] = START + delay_ns + np.array([100, 200, 300])
    calls["end_ns"] = calls["start_ns"] + 10
    writer.append(records.CUPTI_RUNTIME, calls)
    kernels = np.zeros(3, records.cupti_kernel)
    kernels["correlation"], kernels["context"], kernels["stream"] = [3, 1, 2], 1, 7
    kernels["name"] = writer.string(f"kernel of {pid}")
    kernels["start_ns"] = START + delay_ns + np.array([320, 120, 220])
    kernels["end_ns"] = kernels["start_ns"] + 5
    writer.append(records.CUPTI_KERNEL, kernels)
    writer.close()
    with path.open("r+b") as file:
        file.seek(PROCESS_FIELD)
        file.write(struct.pack("<I", pid))


def written(folder: Path, output: Path) -> None:
    """Write the capture of the spool."""
    options = RecordingOptions(trace=("cuda",))
    Session(
        directory=folder,
        output=folder,
        command=("x",),
        working_directory="/",
        start_monotonic_ns=START,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=100,
        options=options,
        stop_monotonic_ns=START + 1000,
    ).save()
    finalise(folder, output)


def test_the_same_correlation_ids_in_two_processes_do_not_meet(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    process(folder, 100, 0)
    process(folder, 200, 2)
    written(folder, tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        owner = np.full(len(capture.events), -1)
        for track in capture.tracks:
            if track.process is not None:
                owner[capture.rows_of_track(track.index)] = capture.processes[track.process].pid
        start = capture.events.start
        found = sorted(
            (int(owner[call]), int(owner[kernel]), int(start[call]), int(start[kernel]))
            for call, kernel in zip(
                capture.links.from_row.tolist(), capture.links.to_row.tolist(), strict=True
            )
        )
    assert found == sorted(
        (pid, pid, delay + call, delay + call + 20)
        for pid, delay in ((100, 0), (200, 2))
        for call in (100, 200, 300)
    )


def test_processes_that_see_one_gpu_each_have_a_gpu_each(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for pid, uuid in ((100, b"first"), (200, b"second"), (300, b"first")):
        process(folder, pid, pid, uuid)
    written(folder, tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        contexts = {track.uri.split("/")[1] for track in capture.tracks if track.uri.startswith("gpu/")}
        names = [dict(device.properties)["uuid"] for device in capture.devices]
    assert contexts == {"0", "1"}
    assert len(set(names)) == 2
