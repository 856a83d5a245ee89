"""Lightning: ``Trainer(callbacks=[LightningProfiler(scheduler=(10, 15))])``; with either name of its package."""

from __future__ import annotations

from typing import Any

from warpline.integrations.optional import class_of
from warpline.profiling import hooks
from warpline.profiling.events import RecordEvent
from warpline.profiling.profiler import Profiler
from warpline.profiling.states import TracerEventType

_CALLBACK = class_of("Callback", "lightning.pytorch", "pytorch_lightning")


class LightningProfiler(_CALLBACK):  # type: ignore[misc, valid-type]  # the base is known when it is imported
    """A `warpline.Profiler` whose steps are the batches of a training, with their phases as ranges.

    ``options`` are the profiler's. A training that fails stops it, too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.profiler = Profiler(**options)
        self._phase: RecordEvent | None = None

    def on_train_start(self, *_trainer_and_more: Any) -> None:
        """The first batch is about to be loaded."""
        self.profiler.start()

    def on_train_batch_start(self, *_trainer_and_more: Any) -> None:
        """The model gets a batch."""
        self._enter("Forward", TracerEventType.Forward)

    def on_before_backward(self, *_trainer_and_more: Any) -> None:
        """The loss is there."""
        self._enter("Backward", TracerEventType.Backward)

    def on_after_backward(self, *_trainer_and_more: Any) -> None:
        """The gradients are there."""
        self._leave()

    def on_before_optimizer_step(self, *_trainer_and_more: Any) -> None:
        """The optimizer begins."""
        self._enter("Optimization", TracerEventType.Optimization)

    def on_train_batch_end(self, *_trainer_and_more: Any) -> None:
        """The batch is done."""
        self._leave()
        self.profiler.step()

    def on_train_end(self, *_trainer_and_more: Any) -> None:
        """The training is over."""
        self._leave()
        self.profiler.stop()

    def on_exception(self, *_trainer_and_more: Any) -> None:
        """It failed; what was recorded till then is kept."""
        self.on_train_end()

    def _enter(self, name: str, event_type: TracerEventType) -> None:
        self._leave()
        if not hooks.are_in():  # these tell the phases better, and twice is wrong
            self._phase = RecordEvent(name, event_type)
            self._phase.begin()

    def _leave(self) -> None:
        if self._phase is not None:
            self._phase.end()
            self._phase = None
