"""GPU work of a process that is recorded while it runs: CUPTI is asked for it from begin to end."""

from __future__ import annotations

import os
from collections.abc import Mapping

_INJECTION = "CUDA_INJECTION64_PATH"
"""What the CUDA driver loads when it is initialised, which may be after the recording began."""
_OPTIONS = "WARPLINE_CUPTI"


class JoinedGpu:
    """CUPTI in this process. Calls let go of the GIL: work on a GPU may call back into Python before it ends."""

    def __init__(self, library: str) -> None:
        """``library`` is the agent. Raises OSError."""
        import ctypes

        self._library = library
        self._agent = ctypes.CDLL(library)
        self._added: list[str] = []

    def begin(self, variables: Mapping[str, str]) -> None:
        """The process has joined a session, whose recorder wants it to find these variables."""
        if _OPTIONS not in variables:
            return
        for name, value in {**variables, _INJECTION: self._library}.items():
            if name not in os.environ:
                os.environ[name] = value
                self._added.append(name)
        self._agent.warpline_join_cuda()

    def follow(self) -> None:
        """The session was paused or resumed, which is to hold from the very next call on."""
        self._agent.warpline_follow_cuda()

    def end(self) -> None:
        """Wait for what the GPU was given, have it written, and leave CUPTI to others."""
        for name in self._added:
            os.environ.pop(name, None)
        self._added = []
        self._agent.warpline_leave_cuda()


def follow_in_recording() -> None:
    """As `JoinedGpu.follow`, in a process that ``warpline record`` started."""
    agent = os.environ.get("WARPLINE_AGENT")
    if agent and os.environ.get(_INJECTION) == agent:
        JoinedGpu(agent).follow()
