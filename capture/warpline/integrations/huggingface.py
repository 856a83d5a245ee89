"""Hugging Face: ``Trainer(callbacks=[TrainerProfiler(scheduler=(10, 15))])``. Needs ``transformers``."""

from __future__ import annotations

from typing import Any

from warpline.integrations.optional import class_of
from warpline.profiling import hooks
from warpline.profiling.events import RecordEvent
from warpline.profiling.profiler import Profiler
from warpline.profiling.states import TracerEventType

_CALLBACK = class_of("TrainerCallback", "transformers")


class TrainerProfiler(_CALLBACK):  # type: ignore[misc, valid-type]  # the base is known when it is imported
    """A `warpline.Profiler` whose steps are the trainer's optimizer steps; ``options`` are those of the profiler.

    If training fails, the profiler is stopped when the program ends.
    """

    def __init__(self, **options: Any) -> None:
        self.profiler = Profiler(**options)
        self._phase: RecordEvent | None = None

    def on_train_begin(self, *_args_and_state: Any, **_others: Any) -> None:
        """Start the profiler before the first batch is loaded."""
        self.profiler.start()

    def on_pre_optimizer_step(self, *_args_and_state: Any, **_others: Any) -> None:
        """Begin the optimization range, after the gradients of a step are complete."""
        if not hooks.are_installed():  # the hooks record all phases
            self._phase = RecordEvent("Optimization", TracerEventType.Optimization)
            self._phase.begin()

    def on_optimizer_step(self, *_args_and_state: Any, **_others: Any) -> None:
        """End the optimization range."""
        if self._phase is not None:
            self._phase.end()
            self._phase = None

    def on_step_end(self, args: Any, *_state: Any, **_others: Any) -> None:
        """End a step."""
        self.profiler.step(args.train_batch_size * args.gradient_accumulation_steps)

    def on_train_end(self, *_args_and_state: Any, **_others: Any) -> None:
        """Stop the profiler."""
        self.profiler.stop()
