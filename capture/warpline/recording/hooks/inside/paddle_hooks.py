"""Hooks for Paddle: phases of training and calls of layers. Runs inside the recorded program (see boot.py)."""

from __future__ import annotations

import functools
import os
import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # Globals set by boot.py.
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
"""How often a graph without an optimiser is checked again, and the mark of a graph that trains."""


def allocated(paddle: Any) -> tuple[int, int] | None:
    """The GPU in use and the bytes that tensors have allocated on it; None without a GPU."""
    try:
        place = paddle.framework._current_expected_place()
        if not place.is_gpu_place():
            return None
        return place.gpu_device_id(), paddle.device.cuda.memory_allocated()
    except Exception:  # another version may raise anything; memory is not recorded then
        return None


def hook_layers(paddle: Any) -> None:
    """Hook calls of layers."""
    if os.environ.get("WARPLINE_TORCH_MEMORY") == "1":
        weigh_calls(paddle.nn.Layer, lambda: allocated(paddle))
    hook_calls(paddle.nn.Layer, paddle.is_grad_enabled)


def hook_compiler(paddle: Any) -> None:
    """Watch for compilation: `to_static` creates an object of this class, which reads the code of what it calls."""
    try:
        watch_compiler(paddle.jit.dy2static.program_translator.StaticFunction, lambda *_, **__: True)
    except AttributeError:  # another version of Paddle: assume that it compiles
        let_compile()


def hook_loaders(paddle: Any) -> None:
    """Hook the wait for a batch and the fetching of its samples."""
    iterators = sys.modules["paddle.io.dataloader.dataloader_iter"]
    hook_waits(iterators._DataLoaderIterSingleProcess, paddle.io.DataLoader)
    hook_waits(iterators._DataLoaderIterMultiProcess)
    fetchers = sys.modules["paddle.io.dataloader.fetcher"]
    for fetcher in (fetchers._IterableDatasetFetcher, fetchers._MapDatasetFetcher):
        fetcher.fetch = fetching(fetcher.fetch)


def fetching(fetch: Any) -> Any:
    """``fetch`` of a fetcher, recorded with the place of the dataset's own code."""
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
    """Hook the backward pass."""
    eager = paddle.base.core.eager
    eager.run_backward = timed(eager.run_backward, BACKWARD, "backward")


def hook_optimizers(paddle: Any) -> None:
    """Hook ``step`` of every optimiser that defines it, also of classes defined later."""
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
    """Hook checkpoints."""
    for name in ("save", "load"):
        setattr(paddle, name, timed(getattr(paddle, name), CHECKPOINT, f"paddle.{name}"))


def hook_events(paddle: Any) -> None:
    """Hook the script's own ``RecordEvent`` ranges; Paddle's own events have other hooks."""
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
    """Whether a graph contains an optimiser: an operator that takes a parameter and its gradient."""
    for operator in program.global_block().ops:
        try:
            # Graphs of Paddle 3, or of earlier versions.
            names = (
                operator.get_input_names() if hasattr(operator, "get_input_names") else operator.input_names
            )
        except Exception:  # operators without names for their inputs raise Paddle's own errors
            continue
        names = {name.lower() for name in names}
        if names & {"param", "params"} and names & {"grad", "grads"}:
            return True
    return False


def trains_now(paddle: Any, program: Any, known: dict[int, tuple[Any, int]]) -> bool:
    """Whether a graph that runs contains an optimiser; None stands for the default graph.

    ``known`` caches answers by the graph's id, with a weak reference to detect reused ids.
    """
    if program is None:
        program = paddle.static.default_main_program()
    program = getattr(program, "_program", None) or program  # a CompiledProgram wraps its program
    graph, answer = known.get(id(program), (None, 0))
    if graph is None or graph() is not program:
        answer = 0
    # An optimiser may be added to a graph after its first runs, but not later.
    if answer != YES and answer < LOOKS:
        answer = YES if trains(program) else answer + 1
        known[id(program)] = weakref.ref(program), answer
    return answer == YES


def kind_of_run(paddle: Any, known: dict[int, tuple[Any, int]], program: Any, *inputs: Any) -> int:
    """The kind of a run: a step, an evaluation, or preparation, which has no feed and no fetch list (``inputs``)."""
    if trains_now(paddle, program, known):
        return STEP
    return EVALUATION if any(inputs) else PART


def hook_static(paddle: Any) -> None:
    """Hook runs of static graphs; a run that trains is a step."""
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
                inputs = (*args[:2], kwargs.get("feed"), kwargs.get("fetch_list"))
                kind = kind_of_run(paddle, known, program, *inputs)
            except Exception as error:  # another version may raise anything; the run itself is done
                failed("Executor.run", error)
            record(start, kind, label, 0, id(program) if kind == STEP else 0)

    executor.run = wrapper


def begin(paddle: Any) -> None:
    """Install the hooks after ``import paddle``."""
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
        except Exception as error:  # another version may raise anything; try the other hooks
            failed(hook.__name__, error)


HOOKS = {"paddle": begin}
