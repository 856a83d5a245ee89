"""The agent's reading of records against real libcupti libraries, without a driver.

Looked for in ``WARPLINE_CUPTI_DIR`` (any depth; ``pip download nvidia-cuda-cupti-cu12==12.9.79`` and unzip), in this
Python's packages and in CUDA toolkits. Versions from 13.2 on do not answer without a driver.
"""

from __future__ import annotations

import os
import site
import subprocess
from pathlib import Path

import pytest
from tests.native.conftest import AGENT_HEADERS, HERE, Session, column, compile_c, names

from warpline.recording.sources.cuda import records

# Sizes in bytes from NVIDIA's headers (12.9: as DWARF of cupti_activity.h; 13.0 likewise).
SIZES = {10: (208, 216, 224), 1: (88, 96), 22: (96,), 2: (88,), 5: (40,), 4: (40,), 38: (40, 56), 39: (24,)}
COUNT = 14 * 1000
NO_DRIVER = 77


def libraries() -> list[Path]:
    """Every libcupti this machine has, one per name and place."""
    roots = [os.environ.get("WARPLINE_CUPTI_DIR", ""), "/usr/local/cuda/lib", "/usr/local/cuda/lib64"]
    roots += [
        "/usr/local/cuda/extras/CUPTI/lib64",
        *(f"{folder}/nvidia" for folder in site.getsitepackages()),
    ]
    found = {
        path.resolve(): path
        for root in roots
        if root and Path(root).is_dir()
        for path in sorted(Path(root).rglob("libcupti.so.1?"))
    }
    return list(found.values())


LIBRARIES = libraries()


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory, agent_objects: list[Path]) -> Path:
    program = tmp_path_factory.mktemp("contract") / "cupti_contract"
    return compile_c(program, [HERE / "programs" / "cupti_contract.c", *agent_objects], *AGENT_HEADERS)


@pytest.mark.skipif(not LIBRARIES, reason="no libcupti here; WARPLINE_CUPTI_DIR names a folder with some")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_a_real_libcupti_iterates_what_the_agent_reads(
    session: Session, contract: Path, library: Path
) -> None:
    done = subprocess.run(
        [contract, str(COUNT)],
        env=session.environment(WARPLINE_LIBCUPTI=str(library)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == NO_DRIVER:
        pytest.skip(f"{library.name} does not iterate without a driver")
    assert done.returncode == 0, done.stdout + done.stderr
    learnt = {int(kind): int(size) for kind, size in (line.split() for line in done.stdout.splitlines())}
    for kind, sizes in SIZES.items():
        assert learnt[kind] in sizes
    spool = session.spool()
    per_kind = COUNT // 14
    counts = {
        records.CUPTI_KERNEL: (records.cupti_kernel, per_kind),
        records.CUPTI_MEMCPY: (records.cupti_memcpy, 2 * per_kind),
        records.CUPTI_MEMSET: (records.cupti_memset, per_kind),
        records.CUPTI_RUNTIME: (records.cupti_api, per_kind),
        records.CUPTI_DRIVER: (records.cupti_api, per_kind),
        records.CUPTI_SYNC: (records.cupti_sync, per_kind),
        records.CUPTI_EXTERNAL: (records.cupti_external, per_kind),
        records.CUPTI_GRAPH: (records.cupti_graph, per_kind),
        records.CUPTI_MEMORY: (records.cupti_memory, per_kind),
    }
    correlations: set[int] = set()
    for record_type, (dtype, expected) in counts.items():
        found = column(spool, record_type, dtype, "correlation")
        assert len(found) == expected
        correlations.update(found.tolist())
    assert len(correlations) == 10 * per_kind, "every record's own correlation id arrived"
    assert set(names(spool, records.CUPTI_KERNEL, records.cupti_kernel)) == {"contract_kernel"}
    functions = spool.records(records.CUPTI_FUNCTION, records.cupti_function).values
    assert [spool.text(name) for name in functions["name"]] == ["cudaLaunchKernel_v7000", "cuLaunchKernel"]
