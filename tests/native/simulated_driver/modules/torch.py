"""As much of PyTorch as tests/gpu/programs/with_profiler.py uses, on the simulated driver and its Kineto."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any, Self

__version__ = "0 (simulated)"
version = SimpleNamespace(cuda="12.9")
_KERNEL_NS = ctypes.c_uint64(1000)
_STREAM = 7
_KERNELS = 0
"""Of `clientCount`: kernels with times, none before the profiler's start by its own clock."""


class _Gpu:
    """Initialised when the first tensor comes to it, as PyTorch does."""

    driver: Any = None

    @classmethod
    def begin(cls) -> None:
        if cls.driver is None:
            cls.driver = ctypes.CDLL("libcuda.so.1")
            if cls.driver.cuInit(0):
                raise RuntimeError("cuInit failed")


class Tensor:
    """Has no values; its methods launch kernels."""

    def to(self, _device: str) -> Tensor:
        _Gpu.begin()
        return self

    def erfinv_(self) -> Tensor:
        _Gpu.driver.simulatedLaunch(b"erfinv_kernel", _STREAM, _KERNEL_NS)
        return self

    def add_(self, _value: float) -> Tensor:
        _Gpu.driver.simulatedLaunch(b"add_kernel", _STREAM, _KERNEL_NS)
        return self


def full(_size: tuple[int, ...], _value: float) -> Tensor:
    return Tensor()


def zeros(*_size: int) -> Tensor:
    return Tensor()


def _synchronize() -> None:
    if _Gpu.driver is not None:
        _Gpu.driver.simulatedSynchronize(_STREAM)


class _Profile:
    """`torch.profiler.profile`: what Kineto's calls of CUPTI bring."""

    def __init__(self, activities: list[str]) -> None:
        self.activities = activities
        self.profiler = SimpleNamespace(kineto_results=SimpleNamespace(events=list))
        self._clients = ctypes.CDLL("libclients.so")
        self._kernels = 0

    def __enter__(self) -> Self:
        if self._clients.kinetoStart(False):
            raise RuntimeError("CUPTI refused the profiler")
        return self

    def __exit__(self, *_error: object) -> None:
        _synchronize()
        self._clients.kinetoStop()
        # Kineto's result is what it has at its end; what is delivered to it later belongs to nobody.
        self._kernels = self._clients.clientCount(False, _KERNELS)

    def events(self) -> list[Any]:
        event = SimpleNamespace(name="erfinv_kernel", device_type=SimpleNamespace(name="CUDA"))
        return [event] * self._kernels


cuda = SimpleNamespace(is_available=lambda: True, synchronize=_synchronize)
profiler = SimpleNamespace(profile=_Profile, ProfilerActivity=SimpleNamespace(CUDA="cuda"))
