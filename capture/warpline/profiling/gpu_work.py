"""Records GPU work of a running process through CUPTI."""

from __future__ import annotations

import os
from collections.abc import Mapping

_INJECTION = "CUDA_INJECTION64_PATH"
"""Names the library that the CUDA driver loads when it is initialised, possibly after the recording began."""
_OPTIONS = "WARPLINE_CUPTI"


class JoinedGpu:
    """CUPTI in this process. Calls release the GIL, because GPU work may call back into Python."""

    def __init__(self, library: str) -> None:
        """``library`` is the agent. Raises OSError."""
        import ctypes

        self._library = library
        self._agent = ctypes.CDLL(library)
        self._added: list[str] = []

    def begin(self, variables: Mapping[str, str]) -> None:
        """Start recording in the joined session, with its recorder's variables."""
        if _OPTIONS not in variables:
            return
        for name, value in {**variables, _INJECTION: self._library}.items():
            if name not in os.environ:
                os.environ[name] = value
                self._added.append(name)
        self._agent.warpline_join_cuda()

    def follow(self) -> None:
        """Apply a pause or resume of the session to all following calls."""
        self._agent.warpline_follow_cuda()

    def end(self) -> None:
        """Wait for submitted GPU work, write it, and release CUPTI."""
        for name in self._added:
            os.environ.pop(name, None)
        self._added = []
        self._agent.warpline_leave_cuda()


def follow_in_recording() -> None:
    """Like `JoinedGpu.follow`, for a process that ``warpline record`` started."""
    agent = os.environ.get("WARPLINE_AGENT")
    if agent and os.environ.get(_INJECTION) == agent:
        JoinedGpu(agent).follow()
