"""The cache of converted working files: one conversion per content, bounded, safe; archives open through it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from warpline.model import Cancelled, CaptureFormatError, StorageError
from warpline.storage import CaptureBuilder, ConversionCache, cache_folder, open_capture
from warpline.storage.cache import whole_or_absent
from warpline.storage.columns import hdf5_file
from warpline.storage.read import archive
from warpline.storage.read.archive import expand_archive


def write(path: Path, n: int = 200_000, *, compress: bool = False) -> Path:
    rng = np.random.default_rng(4)
    with CaptureBuilder(path, compress=compress) as builder:
        track = builder.track("t")
        start = np.cumsum(rng.integers(1, 1000, n))
        name = builder.string("x")
        builder.add_events(track, "kernel", start, 5, name, attributes={"registers_per_thread": np.arange(n)})
        builder.add_links("flow", np.arange(n - 1), np.arange(1, n))
        builder.add_counter(track, "c", "", start, rng.random(n))
        return builder.finish()


class Converter:
    """Counts how often it is asked, writes a tiny capture."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(
        self, target: Path, progress: Callable[[float, str], None], cancelled: Callable[[], bool]
    ) -> None:
        self.calls += 1
        progress(0.5, "half")
        write(target, 50)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text("[]")
    return path


@pytest.fixture
def cache(tmp_path: Path) -> ConversionCache:
    return ConversionCache(tmp_path / "cache")


def test_the_same_content_is_converted_once(cache: ConversionCache, source: Path) -> None:
    convert = Converter()
    steps: list[float] = []
    first = cache.get([source], "json 1", convert, lambda fraction, _: steps.append(fraction))
    assert cache.get([source], "json 1", convert) == first
    assert (convert.calls, steps) == (1, [0.5])
    with open_capture(first) as capture:
        assert len(capture.events) == 50
    assert cache.get([source], "json 2", convert) != first
    source.write_text("[1]")
    assert cache.get([source], "json 1", convert) != first
    assert convert.calls == 3
    assert len(list(cache.folder.iterdir())) == 3


def test_content_counts_even_when_size_and_time_are_the_same(cache: ConversionCache, source: Path) -> None:
    before = source.stat()
    first = cache.path_of([source], "x")
    source.write_text("{}")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.path_of([source], "x") != first


def test_a_damaged_entry_is_made_again(cache: ConversionCache, source: Path) -> None:
    convert = Converter()
    entry = cache.get([source], "x", convert)
    entry.write_bytes(entry.read_bytes()[:100])
    with open_capture(cache.get([source], "x", convert)) as capture:
        assert len(capture.events) == 50
    assert convert.calls == 2


@pytest.mark.parametrize("problem", [Cancelled("no"), CaptureFormatError("broken"), RuntimeError("bug")])
def test_a_failed_conversion_leaves_nothing(cache: ConversionCache, source: Path, problem: Exception) -> None:
    def convert(target: Path, progress: object, cancelled: object) -> None:
        target.write_bytes(b"half")
        raise problem

    with pytest.raises(type(problem)):
        cache.get([source], "x", convert)
    assert list(cache.folder.iterdir()) == []


def test_cancelling_between_conversion_and_naming(cache: ConversionCache, source: Path) -> None:
    with pytest.raises(Cancelled):
        cache.get([source], "x", Converter(), cancelled=lambda: True)
    assert list(cache.folder.iterdir()) == []


def test_what_was_used_longest_ago_goes_first(cache: ConversionCache, tmp_path: Path) -> None:
    sources = [tmp_path / f"{index}.json" for index in range(4)]
    entries = []
    for index, path in enumerate(sources):
        path.write_text(str(index))
        entries.append(cache.get([path], "x", Converter()))
        os.utime(entries[-1], (1000 + index, 1000 + index))
    # Using the oldest makes it the newest.
    assert cache.get([sources[0]], "x", Converter()) == entries[0]
    # Whoever has it open knows by the time of its change that it is as it was.
    assert entries[0].stat().st_mtime == 1000
    size = entries[0].stat().st_size
    cache.max_bytes = int(3.5 * size)
    fifth = tmp_path / "5.json"
    fifth.write_text("5")
    last = cache.get([fifth], "x", Converter())
    assert [path.exists() for path in [*entries, last]] == [True, False, False, True, True]
    assert cache.size_bytes() == 3 * size
    cache.max_bytes = 1
    last = cache.get([fifth], "y", Converter())
    assert [path.name for path in cache.folder.iterdir()] == [last.name]
    assert cache.clear() == size
    assert cache.size_bytes() == 0
    assert cache.clear() == 0


def test_what_a_crash_left_goes_after_a_day(cache: ConversionCache, source: Path) -> None:
    cache.folder.mkdir()
    old, young = cache.folder / "a.1.making", cache.folder / "b.2.making"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    cache.get([source], "x", Converter())
    assert (old.exists(), young.exists()) == (False, True)


def convert_slowly(folder: Path, source: Path, ready: object) -> None:
    def convert(target: Path, progress: object, cancelled: object) -> None:
        ready.wait(60)  # type: ignore[attr-defined]  # a barrier: both convert at the same time
        write(target, 50)

    ConversionCache(folder).get([source], "x", convert)


def test_two_processes_converting_the_same_file(cache: ConversionCache, source: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    processes = [context.Process(target=convert_slowly, args=(cache.folder, source, ready)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(100)
        assert process.exitcode == 0
    with open_capture(cache.path_of([source], "x")) as capture:
        assert len(capture.events) == 50
    assert len(list(cache.folder.iterdir())) == 1


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path, source: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="set XDG_CACHE_HOME"):
        ConversionCache(tmp_path / "file" / "cache").get([source], "x", Converter())
    with pytest.raises(CaptureFormatError, match="cannot be read"):
        ConversionCache(tmp_path).get([tmp_path / "nothing"], "x", Converter())


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "warpline"
    assert ConversionCache().folder.is_relative_to(tmp_path)


def contents(path: Path) -> dict[str, object]:
    found: dict[str, object] = {}

    def visit(name: str, node: h5py.Group | h5py.Dataset) -> None:
        found[name] = dict(node.attrs)
        if isinstance(node, h5py.Dataset):
            found[name + " "] = node[:].tolist()

    with h5py.File(path) as file:
        found[""] = dict(file.attrs)
        file.visititems(visit)
    return found


def test_a_large_archive_opens_through_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(archive, "IN_MEMORY_BYTES", 1 << 20)
    packed = write(tmp_path / "packed.h5", compress=True)
    steps: list[float] = []
    with open_capture(packed, progress=lambda fraction, _: steps.append(fraction)) as capture:
        assert capture.path == packed
        assert capture.is_mapped
        assert len(capture.events) == 200_000
    assert steps == sorted(steps)
    assert len(steps) > 10
    entry = next((tmp_path / "user").rglob("*.h5"))
    assert contents(entry) == contents(packed)
    steps.clear()
    open_capture(packed, progress=lambda fraction, _: steps.append(fraction)).close()
    assert steps == []
    # The header is whole, a column is not: found when it is opened, and unpacked again.
    entry.write_bytes(entry.read_bytes()[:-100_000])
    with open_capture(packed) as capture:
        assert capture.events.start[-1] > 0


def test_a_small_archive_needs_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    with open_capture(write(tmp_path / "packed.h5", 1000, compress=True)) as capture:
        assert not capture.is_mapped
    assert not (tmp_path / "user").exists()


def test_unpacking_can_be_cancelled_and_needs_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(archive, "IN_MEMORY_BYTES", 1 << 20)
    packed = write(tmp_path / "packed.h5", compress=True)
    with pytest.raises(Cancelled):
        open_capture(packed, cancelled=lambda: True)
    usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match=r"78.6 MiB are needed to open packed.h5 and 1 MiB are free"):
        open_capture(packed)
    assert [path for path in (tmp_path / "user").rglob("*") if path.is_file()] == []


def test_damage_in_an_archive_is_named(tmp_path: Path) -> None:
    packed = write(tmp_path / "packed.h5", compress=True)
    with h5py.File(packed, "r+") as file:
        chunk = file["events/start"].id.get_chunk_info(1)
    data = bytearray(packed.read_bytes())
    data[chunk.byte_offset + 50 : chunk.byte_offset + 150] = bytes(100)
    packed.write_bytes(data)
    with pytest.raises(CaptureFormatError, match="events/start is damaged"):
        expand_archive(packed, tmp_path / "out.h5")
    with pytest.raises(CaptureFormatError, match="events/start is damaged"):
        open_capture(packed)


def test_monstrous_chunks_are_refused(tmp_path: Path) -> None:
    target = write(tmp_path / "x.h5", 1000)
    with h5py.File(target, "r+", libver="latest") as file:
        values = file["events/start"][:]
        del file["events/start"]
        file.create_dataset(
            "events/start", data=values, chunks=(1 << 24,), maxshape=(None,), compression="gzip"
        )
    with pytest.raises(CaptureFormatError, match="chunks of more than 16 MiB"):
        open_capture(target)


def test_more_chunks_than_the_file_has_bytes_are_refused(tmp_path: Path) -> None:
    target = write(tmp_path / "x.h5", 1000)
    with h5py.File(target, "r+", libver="latest") as file:
        del file["meta"]
        file.create_dataset("meta", (1 << 24,), "|u1", chunks=(1,), maxshape=(None,), compression="gzip")
    # Read, they would be 24 GB of what HDF5 keeps about them.
    with pytest.raises(CaptureFormatError, match="dataset meta claims more chunks than the file has bytes"):
        open_capture(target)


def test_chunks_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(tmp_path / "x.h5", 1000)
    with open_capture(target) as capture:
        starts = capture.events.start[:].copy()
    with h5py.File(target, "r+", libver="latest") as file:
        values = file["events/start"][:]
        del file["events/start"]
        file.create_dataset("events/start", data=values, chunks=(7,), maxshape=(None,), compression="gzip")
    monkeypatch.setattr(hdf5_file, "_CHUNKS_PER_READ", 3)
    with open_capture(target) as capture:
        assert np.array_equal(capture.events.start[:], starts)


def test_the_limit_is_this_users_in_every_process(cache: ConversionCache, tmp_path: Path) -> None:
    for number in range(3):
        source = tmp_path / f"{number}.json"
        source.write_text(str(number))
        entry = cache.get([source], "x", Converter())
        os.utime(entry, (1_000 + number, 1_000 + number))
    size = cache.size_bytes() // 3
    cache.set_limit(2 * size + size // 2)
    assert cache.size_bytes() == 2 * size, "what is too much goes at once, the oldest first"
    again = ConversionCache(cache.folder)
    assert again.max_bytes == 2 * size + size // 2
    (cache.folder / "limit").write_text("much")
    assert ConversionCache(cache.folder).max_bytes == ConversionCache(tmp_path / "other").max_bytes


def test_indexes_of_names_can_be_counted_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpline.storage.index.name_index_cache import build_name_index, forget_indexes, stored_indexes

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert stored_indexes() == {}
    with open_capture(write(tmp_path / "run.h5", 500)) as capture:
        build_name_index(capture.lane_columns, capture.uuid, folder=cache_folder() / "names")
        assert sum(stored_indexes().values()) >= 500 * 12
        assert forget_indexes() > 0
        assert stored_indexes() == {}


@pytest.mark.parametrize(
    "first", ["write.builder", "columns.new_file", "columns.stored_text", "columns.hdf5_file", "read.archive"]
)
def test_a_file_that_somebody_locked_opens_whatever_loads_hdf5_first(tmp_path: Path, first: str) -> None:
    fcntl = pytest.importorskip("fcntl")
    path = write(tmp_path / "x.h5", 2_000, compress=True)
    program = f"""
import warpline.storage.{first}
from warpline.storage import open_capture
with open_capture({str(path)!r}) as capture:
    print(len(capture.events))
"""
    environment = {name: value for name, value in os.environ.items() if name != "HDF5_USE_FILE_LOCKING"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    with path.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
        )
    assert (done.stdout, done.stderr) == ("2000\n", "")


def test_what_a_killed_maker_left_goes_when_the_same_is_made_again(tmp_path: Path) -> None:
    place = tmp_path / "table[1].bin"
    left, at_work = place.with_name("table[1].00000000.making"), place.with_name("table[1].11111111.making")
    for path in (left, at_work):
        path.write_bytes(b"half")
    os.utime(left, (1_000, 1_000))
    with whole_or_absent(place) as making:
        making.write_bytes(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {place.name, at_work.name}
