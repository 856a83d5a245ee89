"""The source ``cuda``: calls and work on GPUs, through CUPTI."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.session import Session
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

VARIABLE = "CUDA_INJECTION64_PATH"
OPTIONS_VARIABLE = "WARPLINE_CUPTI"
"""Comma-separated expert options: ``calls=all`` (also calls that only query state), ``latency=1`` (when work was queued
and submitted)."""
LIBRARY_VARIABLE = "WARPLINE_LIBCUPTI"

# In a separate process: cuInit allocates GPU memory, and some versions of libcupti crash without a driver.
_TRY_CUDA = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).cuInit(0) & 255)"


class CudaSource(RecordingSource):
    """CUDA calls, kernels, copies, synchronisation, memory, recorded by the agent."""

    name = "cuda"
    choice = Choice(
        "cuda", english("CUDA"), english("Kernels, copies and API calls"), is_default=True, control_bit=4
    )
    title = english("CUDA calls and GPU work (CUPTI)")
    short_title = english("CUDA")
    position = 60
    capture_range = "cuda-profiler"
    needs_start = english("GPU work is recorded inside the program, from its start")
    record_types = frozenset(range(300, 400))
    passing_in_own_clock = frozenset((300, 301, 302, 303, 304, 305, 306, 307, 311))

    def probe(self) -> str:
        from warpline.recording.agent.loading import require_free
        from warpline.recording.agent.probing import require_agent, run_with_agent
        from warpline.recording.sources.cuda.libraries import find_driver, find_libcupti

        library = require_agent()
        require_free(VARIABLE, os.environ)
        driver = find_driver(os.environ)
        if driver is None:
            raise _no_driver()
        variables = {VARIABLE: str(library)}
        libcupti = find_libcupti([sys.executable], os.environ)
        if libcupti is not None and LIBRARY_VARIABLE not in os.environ:
            variables[LIBRARY_VARIABLE] = str(libcupti)
        status, states = run_with_agent(_TRY_CUDA, driver, variables)
        state = states.get(self.name)
        if state is None:
            reason = (
                english("the CUDA driver does not start (cuInit returned {status})", status=status)
                if status
                else english("the CUDA driver did not load the agent")
            )
            raise Unavailable(reason, english("check that nvidia-smi works"))
        if not state.enabled:
            raise Unavailable(state.reason, state.remedy)
        return state.reason

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import load_agent, preload_agent
        from warpline.recording.sources.cuda.libraries import find_driver, find_libcupti

        loaded = load_agent(session, inherited, self.name, VARIABLE)
        variables = {**loaded.variables, OPTIONS_VARIABLE: ",".join(_options(session, inherited))}
        if LIBRARY_VARIABLE not in inherited:
            libcupti = find_libcupti(session.command, inherited)
            if libcupti is not None:
                variables[LIBRARY_VARIABLE] = str(libcupti)
        source = loaded.source
        if VARIABLE in variables and find_driver(inherited) is None:
            missing = _no_driver()
            source = Source(self.name, False, missing.reason, 0, missing.remedy)
        elif VARIABLE in variables:
            with contextlib.suppress(Unavailable):
                # Only a preloaded agent sees the program's own profiler, and `_exit`.
                variables |= preload_agent(session, inherited, self.name).variables
        return replace(loaded, variables=variables, source=source)

    def joining(self, inherited: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002  # as every source's
        from warpline.recording.session import RecordingOptions
        from warpline.recording.sources.cuda.libraries import find_libcupti

        libcupti = find_libcupti([sys.executable], os.environ)
        variables = {OPTIONS_VARIABLE: f"graphs={RecordingOptions(trace=()).cuda_graphs}"}
        return variables if libcupti is None else {**variables, LIBRARY_VARIABLE: str(libcupti)}

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.cuda.translate import translate

        translate(translation, spools, builder)


def _options(session: Session, inherited: Mapping[str, str]) -> list[str]:
    options = [f"graphs={session.options.cuda_graphs}"]
    if session.options.cuda_memory:
        options.append("memory=1")
    return [*filter(None, [inherited.get(OPTIONS_VARIABLE, "")]), *options]


def _no_driver() -> Unavailable:
    return Unavailable(
        english("no NVIDIA driver: libcuda.so.1 was not found"),
        english("install the NVIDIA driver, or give the container access to the GPU"),
    )


source = CudaSource()
