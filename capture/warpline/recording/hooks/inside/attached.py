"""Runs inside a program to which ``warpline attach --inside`` has attached: joins the recording, and leaves it again.

`recording/inside_program.py` writes the two lines that read this file and call `begin` or `end`. It imports nothing of
Warpline, and an error ends up in the answer, not in the program.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

STATE = "_warpline_attached"
INJECTIONS = ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH")
"""Variables that make NVTX and the CUDA driver load the agent when the program first uses them."""


def begin(answer: str, library: str, spool: str, variables: Mapping[str, str]) -> None:
    """Write to the session in ``spool`` from now on; ``variables`` are the settings of its sources."""
    _reply(answer, lambda: _join(library, spool, variables))


def end(answer: str) -> None:
    """Release CUPTI, and undo what `begin` has set."""
    _reply(answer, _leave)


def _join(library: str, spool: str, variables: Mapping[str, str]) -> None:
    import ctypes

    agent = ctypes.PyDLL(library)
    if not agent.warpline_join(os.fsencode(spool)):
        raise OSError("the agent cannot join the recording")
    state = sys.modules.setdefault(STATE, type(sys)(STATE))
    names: dict[str, Any] = vars(state)
    if any("HOOK" in name for name in variables):
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        agent.warpline_hook_frameworks(int(names.get("is_hooked", False) and "torch" in sys.modules))
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        names["is_hooked"] = True
    names["set"] = []
    for name in INJECTIONS:
        if name not in os.environ:
            os.environ[name] = library
            names["set"].append(name)
    if "WARPLINE_CUPTI" in variables:
        for name, value in variables.items():
            if name not in os.environ:
                os.environ[name] = value
                names["set"].append(name)
        names["cuda"] = ctypes.CDLL(library)
        names["cuda"].warpline_join_cuda()
    _connect(library)


def _leave() -> None:
    names: dict[str, Any] = vars(sys.modules[STATE])
    _connect("")
    cuda = names.pop("cuda", None)
    if cuda is not None:
        cuda.warpline_leave_cuda()
    for name in names.pop("set", ()):
        os.environ.pop(name, None)


def _connect(library: str) -> None:
    """Have the program's `warpline.annotate` write to the agent, or stop."""
    annotation = sys.modules.get("warpline.annotation")
    if annotation is not None:
        annotation.connect(annotation.load_agent(library) if library else None)


def _reply(answer: str, work: Callable[[], None]) -> None:
    error = ""
    try:
        work()
    except Exception as raised:  # whatever it is, the program goes on
        error = f"{type(raised).__name__}: {raised}"
    with open(answer + ".part", "w", encoding="utf-8") as file:
        file.write(error)
    os.rename(answer + ".part", answer)
