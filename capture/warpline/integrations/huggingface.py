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
    """A `warpline.Profiler` whose steps are a trainer's optimizer steps; ``options`` are the profiler's.

    A training that fails leaves it running; it is stopped when the program ends.
    """

    def __init__(self, **options: Any) -> None:
        self.profiler = Profiler(**options)
        self._phase: RecordEvent | None = None

    def on_train_begin(self, *_args_and_state: Any, **_others: Any) -> None:
        """The first batch is about to be loaded."""
        self.profiler.start()

    def on_pre_optimizer_step(self, *_args_and_state: Any, **_others: Any) -> None:
        """The gradients of all batches of a step are there."""
        if not hooks.are_in():  # these tell all phases
            self._phase = RecordEvent("Optimization", TracerEventType.Optimization)
            self._phase.begin()

    def on_optimizer_step(self, *_args_and_state: Any, **_others: Any) -> None:
        """The optimizer is done."""
        if self._phase is not None:
            self._phase.end()
            self._phase = None

    def on_step_end(self, args: Any, *_state: Any, **_others: Any) -> None:
        """A step is done."""
        self.profiler.step(args.train_batch_size * args.gradient_accumulation_steps)

    def on_train_end(self, *_args_and_state: Any, **_others: Any) -> None:
        """The training is over."""
        self.profiler.stop()
