"""Lightning: ``Trainer(callbacks=[LightningProfiler(scheduler=(10, 15))])``. Supports both names of its package."""

from __future__ import annotations

from typing import Any

from warpline.integrations.optional import class_of
from warpline.profiling import hooks
from warpline.profiling.events import RecordEvent
from warpline.profiling.profiler import Profiler
from warpline.profiling.states import TracerEventType

_CALLBACK = class_of("Callback", "lightning.pytorch", "pytorch_lightning")


class LightningProfiler(_CALLBACK):  # type: ignore[misc, valid-type]  # the base is known when it is imported
    """A `warpline.Profiler` whose steps are training batches, with their phases as ranges.

    ``options`` are those of the profiler. It is also stopped when training fails.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.profiler = Profiler(**options)
        self._phase: RecordEvent | None = None

    def on_train_start(self, *_trainer_and_more: Any) -> None:
        """Start the profiler before the first batch is loaded."""
        self.profiler.start()

    def on_train_batch_start(self, *_trainer_and_more: Any) -> None:
        """Begin the forward range."""
        self._enter("Forward", TracerEventType.Forward)

    def on_before_backward(self, *_trainer_and_more: Any) -> None:
        """Begin the backward range."""
        self._enter("Backward", TracerEventType.Backward)

    def on_after_backward(self, *_trainer_and_more: Any) -> None:
        """End the backward range."""
        self._leave()

    def on_before_optimizer_step(self, *_trainer_and_more: Any) -> None:
        """Begin the optimization range."""
        self._enter("Optimization", TracerEventType.Optimization)

    def on_train_batch_end(self, *_trainer_and_more: Any) -> None:
        """End the range and the step."""
        self._leave()
        self.profiler.step()

    def on_train_end(self, *_trainer_and_more: Any) -> None:
        """Stop the profiler."""
        self._leave()
        self.profiler.stop()

    def on_exception(self, *_trainer_and_more: Any) -> None:
        """Stop the profiler after a failure; the recording is kept."""
        self.on_train_end()

    def _enter(self, name: str, event_type: TracerEventType) -> None:
        self._leave()
        if not hooks.are_installed():  # the hooks record the phases already
            self._phase = RecordEvent(name, event_type)
            self._phase.begin()

    def _leave(self) -> None:
        if self._phase is not None:
            self._phase.end()
            self._phase = None
