"""Hooks for PyTorch: phases of a training, and calls of modules. Runs inside the recorded program (see boot.py).

A wrapper calls what it stands for and nothing else of torch, lets every exception pass, and is what it wraps to whoever
looks (`functools.wraps`). While torch traces a program (`torch.compile`, `torch.export`) it is not there.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # What boot.py puts among the globals of this file: functions of the agent, which never raise. Times are
    # CLOCK_MONOTONIC ns, strictly increasing in a thread; texts and modules are told by numbers.
    def now() -> int: ...
    def enter() -> int: ...  # a module is called; negative where this thread is in no other module
    def leave(start: int, module: int, /) -> None: ...  # its call ends; `module` is path << 32 | class
    def record(start: int, kind: int, name: int, detail: int, value: int, /) -> None: ...  # from start to now
    def text(text: str, /) -> int: ...
    def failed(name: str, error: Exception) -> None: ...


LOADER, FORWARD, EVALUATION, BACKWARD, OPTIMIZER, COMMUNICATION, CHECKPOINT, PART = range(1, 9)
"""Kinds of ranges: what `records.py` calls them."""

COLLECTIVES = (
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier", "recv",
    "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list",
    "send", "send_object_list",
)  # fmt: skip
LIBRARY_NAMES = frozenset(
    {"self", "cls", "fn", "func", "function", "f", "module", "forward", "call", "original"}
)
"""What code calls a module that it was given: no name of its user's."""
CALLED = re.compile(r"\s*(?:self\.)?([A-Za-z_][A-Za-z_0-9.]*)\s*\(")

compiling: list[Callable[[], bool]] = [lambda: False]
paths: dict[int, int] = {}
"""Of each module that is known, by its id: its path and its class, two ids of texts in one number."""
refs: dict[int, Any] = {}
serials = itertools.count(1)


def is_compiling() -> bool:
    """Whether torch is tracing; torch._dynamo takes the function in the list for the constant that it is there."""
    return compiling[0]()


def timed(function: Any, kind: int, name: str) -> Any:
    """`function` as a range."""
    label = text(name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        start = now()
        try:
            return function(*args, **kwargs)
        finally:
            record(start, kind, label, 0, 0)

    leave_to_dynamo(wrapper)
    return wrapper


def leave_to_dynamo(*functions: Any) -> None:
    """Have torch._dynamo begin with what these call, as it does with functions of torch itself."""
    try:
        frames = sys.modules["torch._C"]._dynamo.eval_frame
        strategy = getattr(frames, "_FrameExecStrategy", None)
        for function in functions:
            if strategy is None:
                frames.skip_code(function.__code__)
            else:
                action = frames._FrameAction
                frames.set_code_exec_strategy(function.__code__, strategy(action.SKIP, action.DEFAULT))
    except (AttributeError, KeyError):
        pass  # a torch without dynamo


# --- modules


def remember(module: Any) -> None:
    """Forget the module's path when it is gone: its id may be another's then."""
    refs[id(module)] = weakref.ref(module, functools.partial(forget, paths.pop, refs.pop, id(module)))


def forget(pop_path: Any, pop_ref: Any, key: int, _ref: Any) -> None:
    """Called by a weak reference, also while the interpreter ends and globals are gone."""
    pop_path(key, None)
    pop_ref(key, None)


def path_of_tree(root: Any, name: str) -> None:
    """Give a module, and those in it, the paths that ``named_modules`` has, below the root's name."""
    for inner, module in root.named_modules():
        label = f"{name}.{inner}" if inner else name
        paths[id(module)] = text(label) << 32 | text(type(module).__qualname__)
        remember(module)


def name_at_call(frame: Any) -> str:
    """What the calling line calls the module (``model`` of ``loss = model(x)``); empty where it gives no name."""
    import linecache

    code = frame.f_code
    positions = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    line = (
        linecache.getline(code.co_filename, positions[0]).encode()[positions[2] :].decode("utf-8", "replace")
    )
    match = CALLED.match(line)
    name = match[1] if match else ""
    return "" if name.rpartition(".")[2] in LIBRARY_NAMES else name


def path_of(module: Any, frame: Any = None) -> int:
    """Path and class of a module that was not called before."""
    name = ""
    try:
        if frame is not None:
            try:
                name = name_at_call(frame)
            except Exception:
                name = ""
            path_of_tree(module, name or type(module).__name__)
        else:
            label = text(type(module).__name__)
            paths[id(module)] = text(type(module).__qualname__) | label << 32
            remember(module)
        return paths[id(module)]
    except Exception as error:
        failed("named_modules", error)
        return 0


def hook_modules(module: Any) -> None:
    """``Module.__call__``: every call of a module, and the outermost as forward or evaluation."""
    original = module.Module.__call__
    labels: dict[tuple[int, type], int] = {}
    find = paths.get
    grad_enabled = sys.modules["torch._C"].is_grad_enabled if "torch._C" in sys.modules else lambda: True

    def label_of(kind: int, module: Any) -> int:
        key = (kind, type(module))
        if key not in labels:
            word = "forward" if kind == FORWARD else "evaluation"
            labels[key] = text(f"{word}: {type(module).__name__}")
        return labels[key]

    def outermost(self: Any, start: int, args: Any, kwargs: Any) -> Any:
        kind = FORWARD if self.training and grad_enabled() else EVALUATION
        path = find(id(self)) or path_of(self, sys._getframe(2))
        try:
            return original(self, *args, **kwargs)
        finally:
            leave(start, path)
            record(start, kind, label_of(kind, self), 0, 0)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        start = enter()
        if start < 0:
            return outermost(self, -start, args, kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            leave(start, find(id(self)) or path_of(self))

    leave_to_dynamo(call, outermost)
    module.Module.__call__ = functools.wraps(original)(call)


# --- phases


def hook_loader(module: Any) -> None:
    """The wait for a batch, in the process that trains."""
    iterator, loader = module._BaseDataLoaderIter, module.DataLoader
    following, beginning = iterator.__next__, loader.__iter__
    next_name, iter_name = text("DataLoader.__next__"), text("DataLoader.__iter__")

    @functools.wraps(following)
    def wait(self: Any) -> Any:
        own = self.__dict__
        serial = own.get("_warpline_serial") or own.setdefault("_warpline_serial", next(serials))
        has_ended = 0
        start = now()
        try:
            return following(self)
        except StopIteration:
            has_ended = 1
            raise
        finally:
            record(start, LOADER, next_name, has_ended, serial)

    @functools.wraps(beginning)
    def begin(self: Any) -> Any:
        start = now()
        try:
            return beginning(self)
        finally:
            record(start, LOADER, iter_name, 0, 0)

    iterator.__next__ = wait
    loader.__iter__ = begin


def place_of(dataset: Any) -> str:
    """The line of a dataset's own code: ``Images.__getitem__ train.py:12``."""
    kind = type(dataset)
    for name in ("__getitems__", "__getitem__", "__iter__"):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if code is not None:
            return f"{kind.__qualname__}.{name} {code.co_filename}:{code.co_firstlineno}"
    return kind.__qualname__


def hook_fetch(module: Any) -> None:
    """What a batch is made of, in loader workers or, without them, inside the wait."""
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
        except Exception as error:
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
    """A loader worker hands its batch over."""
    loop = module._worker_loop

    @functools.wraps(loop)
    def _worker_loop(
        dataset_kind: Any, dataset_holder: Any, index_queue: Any, data_queue: Any, *args: Any, **kwargs: Any
    ) -> Any:
        try:
            data_queue.put = timed(data_queue.put, PART, "send batch")
        except Exception as error:
            failed("send batch", error)
        return loop(dataset_kind, dataset_holder, index_queue, data_queue, *args, **kwargs)

    module._worker_loop = _worker_loop


def hook_backward(module: Any) -> None:
    """The backward pass, however it is begun."""
    name = "_engine_run_backward" if hasattr(module, "_engine_run_backward") else "backward"
    setattr(module, name, timed(getattr(module, name), BACKWARD, "backward"))


def stepping(step: Any) -> Any:
    """`step` of an optimiser, told by the optimiser's identity; a closure that it calls runs inside."""
    labels: dict[type, int] = {}

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return step(*args, **kwargs)
        optimizer = args[0] if args else None
        start = now()
        try:
            return step(*args, **kwargs)
        finally:
            kind = type(optimizer)
            label = labels.get(kind) or labels.setdefault(kind, text(f"Optimizer.step: {kind.__name__}"))
            record(start, OPTIMIZER, label, 0, id(optimizer))

    leave_to_dynamo(wrapper)
    return wrapper


def hook_optimizers(module: Any) -> None:
    """``step`` of every optimiser: torch wraps it itself when the first of a class is made."""
    optimizer = module.Optimizer
    wrap = optimizer.profile_hook_step

    @functools.wraps(wrap)
    def profile_hook_step(func: Any) -> Any:
        return stepping(wrap(func))

    optimizer.profile_hook_step = staticmethod(profile_hook_step)
    # Classes that torch has wrapped already, where the hooks come into a program that runs.
    kinds = [optimizer]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
        step = vars(kind).get("step")
        if getattr(step, "hooked", False):
            kind.step = stepping(step)


def hook_scaler(module: Any) -> None:
    """``GradScaler.step`` ends a step also where it leaves the optimiser out, because a gradient overflowed."""
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
    """Communication that the script asks for; what DistributedDataParallel sends is part of backward."""
    for name in COLLECTIVES:
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, unless_compiling(function, timed(function, COMMUNICATION, name)))


def unless_compiling(function: Any, hooked: Any) -> Any:
    """`hooked`, or the function itself where torch is tracing."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(*args, **kwargs)
        return hooked(*args, **kwargs)

    return wrapper


def hook_files(module: Any) -> None:
    """Checkpoints."""
    for name in ("save", "load"):
        hooked = timed(getattr(module, name), CHECKPOINT, f"torch.{name}")
        setattr(module, name, hooked)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, name):
            setattr(torch, name, hooked)


def hook_compiler(module: Any) -> None:
    """From here on it can be asked whether torch is tracing."""
    compiling[0] = module.is_compiling


HOOKS = {
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
