"""Hooks for Paddle: phases of a training, and calls of layers. Runs inside the recorded program (see boot.py)."""

from __future__ import annotations

import functools
import os
import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # What boot.py puts among the globals of this file.
    from warpline.recording.hooks.inside.common_hooks import (
        BACKWARD,
        CHECKPOINT,
        EVALUATION,
        PART,
        STEP,
        failed,
        hook_calls,
        hook_waits,
        let_compile,
        now,
        place_of,
        record,
        stepping,
        text,
        timed,
        watch_compiler,
        weigh_calls,
    )


LOOKS, YES = 3, 4
"""How often a graph that did not train is looked at again, and what stands for one that trains."""


def allocated(paddle: Any) -> tuple[int, int] | None:
    """The GPU that is in use, and how many bytes tensors have of it; None where there is none."""
    try:
        place = paddle.framework._current_expected_place()
        if not place.is_gpu_place():
            return None
        return place.gpu_device_id(), paddle.device.cuda.memory_allocated()
    except Exception:  # of Paddle's private functions of another version anything: nothing is weighed then
        return None


def hook_layers(paddle: Any) -> None:
    """Calls of layers."""
    if os.environ.get("WARPLINE_TORCH_MEMORY") == "1":
        weigh_calls(paddle.nn.Layer, lambda: allocated(paddle))
    hook_calls(paddle.nn.Layer, paddle.is_grad_enabled)


def hook_compiler(paddle: Any) -> None:
    """Where Paddle compiles: `to_static` makes a function of this class, which reads the code of what it calls."""
    try:
        watch_compiler(paddle.jit.dy2static.program_translator.StaticFunction, lambda *_, **__: True)
    except AttributeError:  # another version of Paddle, of which it is not known when it compiles
        let_compile()


def hook_loaders(paddle: Any) -> None:
    """The wait for a batch, and what a batch is made of."""
    iterators = sys.modules["paddle.io.dataloader.dataloader_iter"]
    hook_waits(iterators._DataLoaderIterSingleProcess, paddle.io.DataLoader)
    hook_waits(iterators._DataLoaderIterMultiProcess)
    fetchers = sys.modules["paddle.io.dataloader.fetcher"]
    for fetcher in (fetchers._IterableDatasetFetcher, fetchers._MapDatasetFetcher):
        fetcher.fetch = fetching(fetcher.fetch)


def fetching(fetch: Any) -> Any:
    """``fetch`` of a fetcher as a range, with the line of the dataset's own code."""
    label = text("fetch batch")

    @functools.wraps(fetch)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = now()
        try:
            return fetch(self, *args, **kwargs)
        finally:
            own = self.__dict__
            if "_warpline_place" not in own:
                own["_warpline_place"] = text(place_of(getattr(self, "dataset", None)))
            record(start, PART, label, own["_warpline_place"], 0)

    return wrapper


def hook_backward(paddle: Any) -> None:
    """The backward pass, however it is begun."""
    eager = paddle.base.core.eager
    eager.run_backward = timed(eager.run_backward, BACKWARD, "backward")


def hook_optimizers(paddle: Any) -> None:
    """``step`` of every optimiser that has one of its own, and of those that scripts will define."""
    kinds = [paddle.optimizer.Optimizer]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
        if "step" in vars(kind):
            kind.step = stepping(vars(kind)["step"])

    def begun(cls: Any, /, **kwargs: Any) -> None:
        super(paddle.optimizer.Optimizer, cls).__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = stepping(vars(cls)["step"])

    paddle.optimizer.Optimizer.__init_subclass__ = classmethod(begun)


def hook_files(paddle: Any) -> None:
    """Checkpoints."""
    for name in ("save", "load"):
        setattr(paddle, name, timed(getattr(paddle, name), CHECKPOINT, f"paddle.{name}"))


def hook_events(paddle: Any) -> None:
    """What the script names by ``RecordEvent``; what Paddle itself does is hooked where it is done."""
    event = paddle.profiler.RecordEvent
    begin_event, end_event = event.begin, event.end

    @functools.wraps(begin_event)
    def begun(self: Any) -> Any:
        self.__dict__["_warpline_start"] = now()
        return begin_event(self)

    @functools.wraps(end_event)
    def ended(self: Any) -> Any:
        try:
            return end_event(self)
        finally:
            start = self.__dict__.pop("_warpline_start", 0)
            if start and getattr(self.event_type, "name", "") == "PythonUserDefined":
                record(start, PART, text(str(self.name)), 0, 1)

    event.begin, event.end = begun, ended


def trains(program: Any) -> bool:
    """Whether a graph has an operator of an optimiser: one that is given a parameter and its gradient."""
    for operator in program.global_block().ops:
        try:
            # Graphs of Paddle 3, or those of before.
            names = (
                operator.get_input_names() if hasattr(operator, "get_input_names") else operator.input_names
            )
        except Exception:  # of operators without names for what they are given: Paddle raises its own errors
            continue
        names = {name.lower() for name in names}
        if names & {"param", "params"} and names & {"grad", "grads"}:
            return True
    return False


def trains_now(paddle: Any, program: Any, known: dict[int, tuple[Any, int]]) -> bool:
    """Likewise of a graph that is run, or of the one that is run where none is named.

    ``known`` has what was found by the graphs' ids, with a reference that tells whether they are still there.
    """
    if program is None:
        program = paddle.static.default_main_program()
    program = getattr(program, "_program", None) or program  # of a CompiledProgram
    graph, answer = known.get(id(program), (None, 0))
    if graph is None or graph() is not program:
        answer = 0
    # An optimiser may be put into a graph that ran before; one that did not come for some runs does not come.
    if answer != YES and answer < LOOKS:
        answer = YES if trains(program) else answer + 1
        known[id(program)] = weakref.ref(program), answer
    return answer == YES


def kind_of_run(paddle: Any, known: dict[int, tuple[Any, int]], program: Any, *told: Any) -> int:
    """A step, an evaluation, or what only prepares: no data is given to it (``told``) and none wanted."""
    if trains_now(paddle, program, known):
        return STEP
    return EVALUATION if any(told) else PART


def hook_static(paddle: Any) -> None:
    """Runs of a static graph, each as a whole: a step where it trains."""
    executor = paddle.static.Executor
    run, label = executor.run, text("Executor.run")
    known: dict[int, tuple[Any, int]] = {}

    @functools.wraps(run)
    def wrapper(self: Any, program: Any = None, *args: Any, **kwargs: Any) -> Any:
        start = now()
        try:
            return run(self, program, *args, **kwargs)
        finally:
            kind = PART
            try:
                told = (*args[:2], kwargs.get("feed"), kwargs.get("fetch_list"))
                kind = kind_of_run(paddle, known, program, *told)
            except Exception as error:  # whatever was run, by whatever Paddle; it has run
                failed("Executor.run", error)
            record(start, kind, label, 0, id(program) if kind == STEP else 0)

    executor.run = wrapper


def begin(paddle: Any) -> None:
    """When ``import paddle`` is done."""
    for hook in (
        hook_layers,
        hook_compiler,
        hook_loaders,
        hook_backward,
        hook_optimizers,
        hook_files,
        hook_events,
        hook_static,
    ):
        try:
            hook(paddle)
        except Exception as error:  # of another version of Paddle anything; the other hooks are tried
            failed(hook.__name__, error)


HOOKS = {"paddle": begin}
