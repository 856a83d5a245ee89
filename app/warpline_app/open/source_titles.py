"""What collectors record, in a user's words: their own names say how they do it."""

from __future__ import annotations

from warpline.i18n import english, translated

_TITLES = {
    "agent": english("Recorder inside the program"),
    "cuda": english("CUDA"),
    "native": english("Native stacks"),
    "nvml": english("GPU counters"),
    "nvtx": english("NVTX ranges"),
    "osrt": english("Waits"),
    "paddle": english("Operators of Paddle"),
    "perf": english("Thread states and cores"),
    "procfs": english("CPU load and memory"),
    "python": english("Python stacks"),
    "steps": english("Steps"),
    "torch": english("Operators of PyTorch"),
    "wakeups": english("Who woke whom"),
}


def source_title(name: str) -> str:
    """The words for a source of a capture, by the name it has there; that of an importer stays."""
    return translated(_TITLES.get(name, name))
