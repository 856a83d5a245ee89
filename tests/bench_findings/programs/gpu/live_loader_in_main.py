"""A batch is decoded before the GPU gets anything. Cured: it is there."""

import ctypes
import sys

import warpline

SICK = sys.argv[1] == "sick"
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
NAME = ctypes.c_char_p(b"gemm")


def launch(length_ns: int) -> None:
    cuda.simulatedLaunch(NAME, 7, ctypes.c_uint64(length_ns))


def decode() -> None:
    sum(range(1_000_000 if SICK else 20_000))  # sick


for step in range(12):
    with warpline.annotate(f"ProfilerStep#{step}"):
        with warpline.annotate("dataloader"):
            decode()
        for _ in range(15):
            launch(1_000_000)
        cuda.simulatedSynchronize(7)
