"""Asks a GPU for a number after each kernel. Cured: the host runs ahead."""

import ctypes
import sys
import time

import warpline

SICK = sys.argv[1] == "sick"
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
NAME = ctypes.c_char_p(b"gemm")


def launch(length_ns: int) -> None:
    cuda.simulatedLaunch(NAME, 7, ctypes.c_uint64(length_ns))


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def clip() -> None:
    cuda.simulatedSynchronize(7)  # sick


for step in range(12):
    with warpline.annotate(f"ProfilerStep#{step}"):
        for _ in range(20):
            spin(0.001)
            launch(2_000_000)
            if SICK:
                clip()
cuda.simulatedSynchronize(7)
