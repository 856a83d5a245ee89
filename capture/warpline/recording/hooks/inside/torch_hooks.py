"""Hooks for PyTorch: phases of training and calls of modules. Runs inside the recorded program (see boot.py).

They are inactive while torch traces a program (`torch.compile`, `torch.export`).
"""

from __future__ import annotations

import functools
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Globals set by boot.py.
    from warpline.recording.hooks.inside.common_hooks import (
        BACKWARD,
        CHECKPOINT,
        COMMUNICATION,
        HOST,
        MEMORY,
        OPTIMIZER,
        PART,
        after_steps,
        compiling,
        failed,
        flags,
        held,
        hook_calls,
        hook_waits,
        is_compiling,
        let_compile,
        now,
        place_of,
        quick_calls,
        record,
        stepping,
        text,
        timed,
        tracing,
        watch_compiler,
        weigh_calls,
    )


COLLECTIVES = (
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier", "recv",
    "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list",
    "send", "send_object_list",
)  # fmt: skip


MEMORY_ASKED = "WARPLINE_TORCH_MEMORY"


def allocated() -> tuple[int, int] | None:
    """The GPU in use and the bytes that tensors have allocated on it; None without a GPU."""
    try:
        cuda = sys.modules["torch"].cuda
        if not cuda.is_initialized():
            return None
        device = cuda.current_device()
        return device, cuda.memory_allocated(device)
    except Exception:  # anything may fail during the import of PyTorch; memory is not recorded then
        return None


def hook_modules(module: Any) -> None:
    """Hook calls of modules."""
    native = sys.modules.get("torch._C")
    if os.environ.get(MEMORY_ASKED) == "1":
        weigh_calls(module.Module, allocated)
    hook_calls(module.Module, native.is_grad_enabled if native is not None else lambda: True)


# --- phases


def hook_loader(module: Any) -> None:
    """Hook the wait for a batch in the training process."""
    hook_waits(module._BaseDataLoaderIter, module.DataLoader)


def hook_fetch(module: Any) -> None:
    """Hook fetching and collation of a batch, in loader workers or, without them, inside the wait."""
    base = module._BaseDatasetFetcher
    create = base.__init__
    fetch_name = text("fetch batch")

    @functools.wraps(create)
    def created(
        self: Any, dataset: Any, auto_collation: Any, collate_fn: Any, *args: Any, **kwargs: Any
    ) -> None:
        try:
            self._warpline_place = text(place_of(dataset))
            collate_fn = timed(collate_fn, PART, "collate")
        except Exception as error:  # a custom data set may raise anything; its batches are still made
            failed("collate", error)
        create(self, dataset, auto_collation, collate_fn, *args, **kwargs)

    def fetching(fetch: Any) -> Any:
        @functools.wraps(fetch)
        def wrapper(self: Any, index: Any) -> Any:
            start = now()
            try:
                return fetch(self, index)
            finally:
                record(start, PART, fetch_name, self.__dict__.get("_warpline_place", 0), 0)

        return wrapper

    base.__init__ = created
    for fetcher in (module._IterableDatasetFetcher, module._MapDatasetFetcher):
        fetcher.fetch = fetching(fetcher.fetch)


def hook_worker(module: Any) -> None:
    """Hook the sending of batches from loader workers."""
    loop = module._worker_loop

    @functools.wraps(loop)
    def _worker_loop(
        dataset_kind: Any, dataset_holder: Any, index_queue: Any, data_queue: Any, *args: Any, **kwargs: Any
    ) -> Any:
        try:
            data_queue.put = timed(data_queue.put, PART, "send batch")
        except Exception as error:  # another version's queue may refuse it; the worker continues
            failed("send batch", error)
        return loop(dataset_kind, dataset_holder, index_queue, data_queue, *args, **kwargs)

    module._worker_loop = _worker_loop


def hook_backward(module: Any) -> None:
    """Hook the backward pass."""
    name = "_engine_run_backward" if hasattr(module, "_engine_run_backward") else "backward"
    setattr(module, name, timed(getattr(module, name), BACKWARD, "backward"))


def hook_optimizers(module: Any) -> None:
    """Hook ``step`` of every optimiser, where torch wraps it for the first object of a class."""
    optimizer = module.Optimizer
    wrap = optimizer.profile_hook_step

    @functools.wraps(wrap)
    def profile_hook_step(func: Any) -> Any:
        return stepping(wrap(func))

    optimizer.profile_hook_step = staticmethod(profile_hook_step)
    if os.environ.get(MEMORY_ASKED) == "1":
        after_steps.append(count_memory())
    # Classes that torch has already wrapped, when the hooks are installed late.
    kinds = [optimizer]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
        step = vars(kind).get("step")
        if getattr(step, "hooked", False):
            kind.step = stepping(step)


def count_memory() -> Callable[[], None]:
    """A function that records memory of PyTorch's allocator on each GPU in use, and memory of the C library."""
    counted = tuple(
        (text(name), f"{key}_bytes.all.{what}")
        for name, key, what in (
            ("allocated", "allocated", "current"),
            ("reserved", "reserved", "current"),
            ("allocated at most", "allocated", "peak"),
        )
    )
    of_host = text("allocated")

    def count() -> None:
        used = held()
        if used:
            record(now(), MEMORY, of_host, HOST, used)
        cuda = sys.modules["torch"].cuda
        if not cuda.is_initialized():
            return
        for device in range(cuda.device_count()):
            statistics = cuda.memory_stats(device)
            if statistics.get("reserved_bytes.all.peak"):
                for label, key in counted:
                    record(now(), MEMORY, label, device, statistics.get(key, 0))

    def act() -> None:
        try:
            count()
        except Exception as error:  # another version may raise anything; training continues
            after_steps.clear()
            failed("memory_stats", error)

    return act


def hook_scaler(module: Any) -> None:
    """Hook ``GradScaler.step``, which also ends a step that skips the optimiser after an overflow."""
    step = module.GradScaler.step

    @functools.wraps(step)
    def scaled(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        start = now()
        try:
            return step(self, optimizer, *args, **kwargs)
        finally:
            record(start, OPTIMIZER, text("GradScaler.step"), 0, id(optimizer))

    module.GradScaler.step = scaled


def hook_collectives(module: Any) -> None:
    """Hook the script's own communication; that of DistributedDataParallel is part of the backward pass."""
    for name in COLLECTIVES:
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, unless_compiling(function, timed(function, COMMUNICATION, name)))


def unless_compiling(function: Any, hooked: Any) -> Any:
    """A function that calls ``hooked``, or ``function`` while torch is tracing."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(*args, **kwargs)
        return hooked(*args, **kwargs)

    return wrapper


def hook_files(module: Any) -> None:
    """Hook checkpoints."""
    for name in ("save", "load"):
        hooked = timed(getattr(module, name), CHECKPOINT, f"torch.{name}")
        setattr(module, name, hooked)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, name):
            setattr(torch, name, hooked)


def hook_compiler(module: Any) -> None:
    """Use torch's own check for tracing from now on."""
    compiling[0], flags[0] = module.is_compiling, vars(module)
    tracing[0] = getattr(module, "is_dynamo_compiling", module.is_compiling)


def hook_dynamo(module: Any) -> None:
    """Watch for compilation: torch creates a context with a compiler as callback, or a reader of code."""
    context = getattr(module, "_TorchDynamoContext", None)
    reader = getattr(module, "InstructionTranslator", None)
    if not quick_calls or not (
        context or reader
    ):  # imported before our hooks, so it may be compiling; or another version
        let_compile()
    elif context:
        watch_compiler(context, lambda callback=None, *_, **__: callable(callback))
    else:
        watch_compiler(reader, lambda *_, **__: True)


HOOKS = {
    "torch._dynamo.eval_frame": hook_dynamo,
    "torch._dynamo.symbolic_convert": hook_dynamo,
    "torch.amp.grad_scaler": hook_scaler,
    "torch.autograd": hook_backward,
    "torch.compiler": hook_compiler,
    "torch.distributed.distributed_c10d": hook_collectives,
    "torch.nn.modules.module": hook_modules,
    "torch.optim.optimizer": hook_optimizers,
    "torch.serialization": hook_files,
    "torch.utils.data._utils.fetch": hook_fetch,
    "torch.utils.data._utils.worker": hook_worker,
    "torch.utils.data.dataloader": hook_loader,
}
