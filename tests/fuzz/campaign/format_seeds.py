"""Small files of the other formats: protocol buffers, databases, profiles and tables."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.campaign import mutate_json, mutate_pb
from tests.fuzz.guided import formats, traces
from tests.fuzz.guided.target import Target
from tests.unit.interchange.profiles import engine_seeds, profile_seeds

Mutate = Callable[[bytes, random.Random], bytes]
_PROTOBUF = {"xplane": "x.xplane.pb", "perfetto": "x.pftrace", "pprof": "profile.pb"}
_DATABASES = {
    "ascend-db": "ascend_pytorch_profiler_0.db",
    "rpd": "x.rpd",
    "rocpd": "x.db",
    "rocprof-v1": "x.db",
}
_DOCUMENTS = {
    "rocprofv3": "x.json",
    "otlp": "x.json",
    "rocprof-csv": "71_kernel_trace.csv",
    "ncu-csv": "ncu.csv",
}
_PROFILES = {"v8": "x.cpuprofile", "torch-memory": "x.pickle", "trace-dat": "trace.dat", "perf": "perf.data"}
_IN_DATA = (("**/paddle*.pb", "x.pb"), ("**/*.xplane.pb", "x.xplane.pb"), ("**/*.p*f*trace", "x.pftrace"))
_PRUNED_BYTES = 20_000


@dataclass(frozen=True)
class Seed:
    """A file of some format, and what changes it."""

    name: str
    content: bytes
    mutate: Mutate
    file_name: str


def _target(name: str) -> Target:
    return next(target for target in formats.TARGETS if target.name == name)


def _seeds(file_names: dict[str, str]) -> list[Seed]:
    found = []
    for name, file_name in file_names.items():
        target = _target(name)
        mutate = target.mutate or mutate_json.by_bytes
        found += [Seed(name, content, mutate, file_name) for content in target.seeds(None)]
    return found


def protobuf(data: Path | None) -> list[Seed]:
    """Messages of every importer that reads protocol buffers."""
    found = [*_seeds(_PROTOBUF), Seed("paddle", traces.own_profile(), formats.mutate, "x.pb")]
    for pattern, name in _IN_DATA:
        for path in sorted(data.glob(pattern)) if data else []:
            for most in (3, 8):
                content = mutate_pb.pruned(path.read_bytes()[:4_000_000], most)
                if len(content) <= _PRUNED_BYTES:
                    found.append(Seed(path.name, content, formats.mutate, name))
    return found


def databases(folder: Path) -> list[Path]:
    """Databases of every importer of SQLite but Nsight's, written to a folder."""
    found = []
    for seed in _seeds(_DATABASES):
        path = folder / f"{seed.name}-{seed.file_name}"
        path.write_bytes(seed.content)
        found.append(path)
    return found


def profiles() -> list[Seed]:
    """Profiles of stacks and samples, traces of kernels of Linux, documents and tables."""
    found = _seeds(_DOCUMENTS)
    for name, (_importer, make) in profile_seeds.SEEDS.items():
        found.append(Seed(name, make(), profile_seeds.damaged, _PROFILES.get(name, "x.txt")))
    for name, text in engine_seeds.SEEDS.items():
        file_name = "x.csv" if name == "openvino" else "x.json"
        found.append(Seed(name, text().encode(), profile_seeds.damaged, file_name))
    return found
