"""Other users of CUDA: C++ with a static runtime, Triton, CuPy, JAX."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.gpu.check_driver import expect_busy_streams
from tests.gpu.checking import Bench, NotHere, check_link_times, counts, lost, names, printed
from tests.gpu.surroundings import PROGRAMS

from warpline.storage import Capture

TOOLKIT = Path("/usr/local/cuda/bin/nvcc")


def compile_kernels(bench: Bench, *options: str) -> str:
    """The path of the compiled `kernels.cu`, with the CUDA runtime linked statically."""
    compiler = shutil.which("nvcc") or (str(TOOLKIT) if TOOLKIT.exists() else None)
    if compiler is None:
        raise NotHere("nvcc is not installed")
    program = bench.folder.parent / f"{bench.check}-kernels"
    words = [compiler, "-cudart", "static", "-Xcompiler", "-pthread", *options, "-o", str(program)]
    done = bench.run([*words, str(PROGRAMS / "kernels.cu")])
    if done.status:
        raise NotHere(f"nvcc failed: {done.errors.strip()[-300:]}")
    return str(program)


def expect_kernels(bench: Bench, capture: Capture, expected: str, name: str = "count_up") -> None:
    seen = sum(name in kernel for kernel in names(capture, "kernel").tolist())
    bench.expect(f"kernels {name}", expected, str(seen))
    check_link_times(bench, capture)


def check_static_runtime(bench: Bench) -> None:
    """C++ with a static CUDA runtime, threads on one default stream."""
    capture, done = bench.record_and_open([compile_kernels(bench), "threads"])
    with capture:
        expect_kernels(bench, capture, printed(done, "kernels"))
        expect_busy_streams(bench, capture, 1)


def check_runtime_reset(bench: Bench) -> None:
    """cudaDeviceReset between batches of kernels."""
    capture, done = bench.record_and_open([compile_kernels(bench), "reset"], seconds=20)
    with capture:
        expect_kernels(bench, capture, printed(done, "kernels"))


def check_per_thread_streams(bench: Bench) -> None:
    """C++ whose threads have a default stream each."""
    program = compile_kernels(bench, "--default-stream", "per-thread")
    capture, done = bench.record_and_open([program, "threads"])
    with capture:
        expect_kernels(bench, capture, printed(done, "kernels"))
        expect_busy_streams(bench, capture, int(printed(done, "threads")))


def check_triton(bench: Bench) -> None:
    """A kernel that Triton compiles."""
    capture, done = bench.record_and_open(bench.program("with_triton.py"), seconds=80)
    with capture:
        expect_kernels(bench, capture, printed(done, "kernels"), printed(done, "name"))


def check_cupy(bench: Bench) -> None:
    """A kernel that CuPy compiles."""
    capture, done = bench.record_and_open(bench.program("with_cupy.py"), seconds=80)
    with capture:
        expect_kernels(bench, capture, printed(done, "kernels"), printed(done, "name"))


def check_jax(bench: Bench) -> None:
    """A compiled function of JAX."""
    capture, done = bench.record_and_open(bench.program("with_jax.py"), seconds=100)
    with capture:
        calls, kernels = int(printed(done, "calls")), counts(capture).get("kernel", 0)
        bench.expect("kernels", f"≥ {calls}", kernels, kernels >= calls)
        bench.tell("records lost", lost(capture))
        check_link_times(bench, capture)
