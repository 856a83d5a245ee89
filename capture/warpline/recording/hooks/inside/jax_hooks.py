"""Hooks for JAX: steps, annotations and compilations. Runs inside the recorded program (see boot.py).

Compilations are what JAX tells its own listeners (``jax.monitoring``), with the function's name since JAX 0.4.36. A
compiled function that is called again runs without any Python, so its runs are not hooked.
"""

from __future__ import annotations

import functools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # Globals set by boot.py.
    from warpline.recording.hooks.inside.common_hooks import PART, STEP, now, record, text


COMPILING = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile XLA module",
    "/jax/compilation_cache/cache_retrieval_time_sec": "read XLA module from the cache",
}
"""Words for the parts of a compilation."""
OF_SCRIPT = 1
"""Value of a part that the script named."""


def hook_compilations(monitoring: Any) -> None:
    """Record what JAX tells of each compilation."""

    def record_duration(event: str, seconds: float, **about: Any) -> None:
        word = COMPILING.get(event)
        if word is not None:
            function = about.get("fun_name")
            label = f"{word}: {function}" if function else word
            record(now() - int(seconds * 1e9), PART, text(label), 0, 0)

    monitoring.register_event_duration_secs_listener(record_duration)


def hook_annotations(profiler: Any) -> None:
    """Record the script's ``TraceAnnotation`` as ranges, ``StepTraceAnnotation`` as steps; JAX's own are left out."""
    annotation, step = profiler.TraceAnnotation, profiler.StepTraceAnnotation
    create, begin, end = annotation.__init__, annotation.__enter__, annotation.__exit__

    @functools.wraps(create)
    def created(self: Any, *args: Any, **kwargs: Any) -> None:
        create(self, *args, **kwargs)
        name = args[0] if args else kwargs.get("name")
        if isinstance(name, str):
            self.__dict__["_warpline_name"] = name

    @functools.wraps(begin)
    def begun(self: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if not caller.startswith("jax."):
            self.__dict__["_warpline_start"] = now()
        return begin(self)

    @functools.wraps(end)
    def ended(self: Any, *error: Any) -> Any:
        try:
            return end(self, *error)
        finally:
            start = self.__dict__.pop("_warpline_start", 0)
            if start:
                label = text(self.__dict__.get("_warpline_name", type(self).__name__))
                if isinstance(self, step):
                    # All steps are of one loop, whatever their names.
                    record(start, STEP, label, 0, 1)
                else:
                    record(start, PART, label, 0, OF_SCRIPT)

    annotation.__init__, annotation.__enter__, annotation.__exit__ = created, begun, ended


HOOKS = {"jax._src.monitoring": hook_compilations, "jax._src.profiler": hook_annotations}
