"""The host works between batches while the GPU has nothing to do. Cured: it does little."""

import ctypes
import sys

import warpline

SICK = sys.argv[1] == "sick"
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
NAME = ctypes.c_char_p(b"gemm")


def launch(length_ns: int) -> None:
    cuda.simulatedLaunch(NAME, 7, ctypes.c_uint64(length_ns))


def evaluate() -> None:
    sum(range(1_500_000 if SICK else 20_000))  # sick


for step in range(12):
    with warpline.annotate(f"ProfilerStep#{step}"):
        for _ in range(10):
            launch(1_000_000)
        evaluate()
cuda.simulatedSynchronize(7)
