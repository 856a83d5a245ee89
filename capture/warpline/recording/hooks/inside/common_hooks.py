"""What the hooks of all frameworks share. Runs inside the recorded program (see boot.py).

A wrapper calls the wrapped function and nothing else of the framework, passes every exception on, and looks like the
wrapped function (`functools.wraps`).
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

    # Globals set by boot.py: functions of the agent, which never raise. Times are CLOCK_MONOTONIC ns, strictly
    # increasing in a thread; texts and modules are passed as ids.
    def now() -> int: ...
    def enter() -> int: ...  # a call of a module begins; negative for an outermost call
    def leave(start: int, module: int, /) -> None: ...  # the call ends; `module` is path << 32 | class
    def heap() -> int: ...  # allocated bytes of the C library; 0 if unknown, negative the first time
    def record(start: int, kind: int, name: int, detail: int, value: int, /) -> None: ...  # from start to now
    def text(text: str, /) -> int: ...
    def failed(name: str, error: Exception) -> None: ...
    def tell(source: str, reason: str) -> None: ...
    def quick_call(
        original: Any,
        slow: Any,
        name: str,
        grad_enabled: Callable[[], bool],
        compiling: list[Callable[[], bool]],
        flags: list[dict[str, Any]],
        after_calls: list[Callable[[], None]],
        paths: dict[int, int],
        forward: dict[type, int],
        evaluation: dict[type, int],
        /,
    ) -> Any: ...  # `slow` in C; None if this Python's object layout is unknown
    def drop(key: int, /) -> None: ...  # forget the path of this module


LOADER, FORWARD, EVALUATION, BACKWARD, OPTIMIZER, COMMUNICATION, CHECKPOINT, PART, MEMORY, KEPT, STEP = range(
    1, 12
)
"""Kinds of ranges, as in `records.py`."""
HOST = 0xFFFFFFFF
"""The device number of host memory."""

LIBRARY_NAMES = frozenset(
    {"self", "super", "cls", "fn", "func", "function", "f", "module", "forward", "call", "original"}
)
"""Names that library code gives to modules; they are not the user's."""
CALLED = re.compile(r"\s*(?:self\.)?([A-Za-z_][A-Za-z_0-9.]*)\s*\(")

compiling: list[Callable[[], bool]] = [lambda: False]
tracing: list[Callable[[], bool]] = [lambda: False]
"""Whether torch._dynamo is tracing. Checked at every call of a module, so it is the cheapest such function."""
flags: list[dict[str, Any]] = [{}]
"""Globals of the module with that function; the function returns their ``_is_compiling_flag`` if there is one."""
paths: dict[int, int] = {}
"""Path and class of each known module by its id: two text ids in one number."""
refs: dict[int, Any] = {}
quick_calls: list[tuple[Any, Any, Any]] = []
"""Classes whose calls are recorded in C: the class, the C function, and its Python twin."""
compilers = [False]
"""Whether the program uses a compiler of models."""
serials = itertools.count(1)
after_steps: list[Callable[[], None]] = []
"""Called after each step of an optimiser; they never raise."""
after_calls: list[Callable[[], None]] = []
"""Called after each outermost call of a module; they never raise."""


def is_compiling() -> bool:
    """Whether torch is tracing. The list keeps torch._dynamo from treating the function as variable."""
    return compiling[0]()


def quietly(function: Callable[[], Any]) -> None:
    """Call a function and ignore its errors."""
    try:
        function()
    except Exception:  # private functions may raise anything; nothing may reach the program
        pass


def timed(function: Any, kind: int, name: str) -> Any:
    """The function, wrapped so that each call is recorded as a range."""
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
    """Have torch._dynamo skip these functions and trace what they call, as with functions of torch itself."""
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


def remember(module: Any) -> None:
    """Forget the module's path when it is deleted, because its id may be reused."""
    key = id(module)
    drop(key)
    refs[key] = weakref.ref(module, functools.partial(forget, paths.pop, refs.pop, drop, key))


def forget(pop_path: Any, pop_ref: Any, drop_path: Any, key: int, _ref: Any) -> None:
    """Callback of the weak reference; also runs at the end of the interpreter, without globals."""
    pop_path(key, None)
    pop_ref(key, None)
    drop_path(key)


def path_of_tree(root: Any, name: str) -> None:
    """Set the paths of a module and its submodules: the names of ``named_modules`` below the root's name."""
    tree = root.named_modules() if hasattr(root, "named_modules") else root.named_sublayers(include_self=True)
    for inner, module in tree:
        label = f"{name}.{inner}" if inner else name
        paths[id(module)] = text(label) << 32 | text(type(module).__qualname__)
        remember(module)


def name_at_call(frame: Any) -> str:
    """The module's name in the calling line (``model`` in ``loss = model(x)``); empty if there is none."""
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
    """Path and class of a module at its first call."""
    name = ""
    try:
        if frame is not None:
            try:
                name = name_at_call(frame)
            except Exception:  # the source is missing, binary or changed: use the class name
                name = ""
            path_of_tree(module, name or type(module).__name__)
        else:
            label = text(type(module).__name__)
            paths[id(module)] = text(type(module).__qualname__) | label << 32
            remember(module)
        return paths[id(module)]
    except Exception as error:  # `named_modules` may be overridden; the call itself continues
        failed("named_modules", error)
        return 0


def hook_calls(kind_of_module: Any, grad_enabled: Callable[[], bool]) -> None:
    """Hook ``__call__`` of modules: record every call, and outermost calls as forward or evaluation."""
    original = kind_of_module.__call__
    labels: dict[int, dict[type, int]] = {FORWARD: {}, EVALUATION: {}}
    find = paths.get

    def label_of(kind: int, module: Any) -> int:
        word = "forward" if kind == FORWARD else "evaluation"
        return labels[kind].setdefault(type(module), text(f"{word}: {type(module).__name__}"))

    def outermost(self: Any, start: int, args: Any, kwargs: Any) -> Any:
        if is_compiling():  # `torch.export` calls what it traces
            leave(0, 0)
            return original(self, *args, **kwargs)
        # Not every layer has the flag, and reading it must not affect the program.
        try:
            kind = FORWARD if getattr(self, "training", True) and grad_enabled() else EVALUATION
            path = find(id(self)) or path_of(self, sys._getframe(2))
        except BaseException:  # an interrupt of the program
            leave(0, 0)
            raise
        try:
            return original(self, *args, **kwargs)
        finally:
            leave(start, path)
            record(start, kind, labels[kind].get(type(self)) or label_of(kind, self), 0, 0)
            for act in after_calls:
                act()

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if tracing[0]():
            return original(self, *args, **kwargs)
        start = enter()
        if start < 0:
            return outermost(self, -start, args, kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            leave(start, find(id(self)) or path_of(self))

    leave_to_dynamo(call, outermost)
    slow = functools.wraps(original)(call)
    quick = None
    if not compilers[0]:
        name = f"{kind_of_module.__qualname__}.__call__"
        known = paths, labels[FORWARD], labels[EVALUATION]
        quick = quick_call(original, slow, name, grad_enabled, compiling, flags, after_calls, *known)
    if quick is not None:
        quick_calls.append((kind_of_module, quick, slow))
    kind_of_module.__call__ = quick or slow


def let_compile() -> None:
    """Record calls of modules in Python instead of C from now on, because compilers inspect what is called."""
    compilers[0] = True
    while quick_calls:
        kind, quick, slow = quick_calls.pop()
        if vars(kind).get("__call__") is quick:
            kind.__call__ = slow
        # Frameworks keep a copy of the function to check later whether it was replaced.
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            for name, value in list(names.items()) if names else ():
                if value is quick:
                    setattr(module, name, slow)


def watch_compiler(kind: Any, compiles: Callable[..., bool]) -> None:
    """Call `let_compile` when an object of the class is created and ``compiles(*args)`` is true; it never raises."""
    create = kind.__init__

    @functools.wraps(create)
    def created(self: Any, *args: Any, **kwargs: Any) -> None:
        if compiles(*args, **kwargs):
            kind.__init__ = create
            quietly(let_compile)
        create(self, *args, **kwargs)

    kind.__init__ = created


NOT_HELD = {
    -1: "host memory is not recorded: this C library does not report its allocations",
    -2: "host memory is recorded only for the beginning: the C library became too slow to ask, "
    "because its free memory is too fragmented",
}


def held() -> int:
    """Allocated bytes of the C library; 0 if unknown, and the capture says why."""
    allocated_bytes = heap()
    if allocated_bytes < 0:
        tell("steps", NOT_HELD[allocated_bytes])
    return max(allocated_bytes, 0)


def weigh_calls(kind_of_module: Any, gpu: Callable[[], tuple[int, int] | None]) -> None:
    """Record how much memory each call of a module keeps after its end. Must run before `hook_calls`.

    ``gpu`` returns a GPU and its allocated bytes; None when no GPU is in use.
    """
    original = kind_of_module.__call__
    find = paths.get

    def weigh(self: Any, start: int, host: int, before: tuple[int, int] | None) -> None:
        path = (find(id(self)) or path_of(self)) >> 32
        after = gpu()
        if before is not None and after is not None and before[0] == after[0]:
            record(start, KEPT, path, after[0], after[1] - before[1])
        on_host = host and held()
        if on_host:
            record(start, KEPT, path, HOST, on_host - host)

    def weighed(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        start, before, host = now(), gpu(), held()
        try:
            return original(self, *args, **kwargs)
        finally:
            weigh(self, start, host, before)

    leave_to_dynamo(weighed, weigh, held)
    kind_of_module.__call__ = functools.wraps(original)(weighed)


def hook_waits(iterator: Any, loader: Any = None) -> None:
    """Hook the wait for a batch in the training process."""
    following, beginning = iterator.__next__, getattr(loader, "__iter__", None)
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

    iterator.__next__ = wait
    if beginning is None:
        return

    @functools.wraps(beginning)
    def begin(self: Any) -> Any:
        start = now()
        try:
            return beginning(self)
        finally:
            record(start, LOADER, iter_name, 0, 0)

    loader.__iter__ = begin


def place_of(dataset: Any) -> str:
    """The place of a dataset's own code: ``Images.__getitem__ train.py:12``."""
    kind = type(dataset)
    for name in ("__getitems__", "__getitem__", "__iter__"):
        code = getattr(getattr(kind, name, None), "__code__", None)
        if code is not None:
            return f"{kind.__qualname__}.{name} {code.co_filename}:{code.co_firstlineno}"
    return kind.__qualname__


def stepping(step: Any) -> Any:
    """`step` of an optimiser, recorded with the optimiser's id; a closure that it calls is included."""
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
            for act in after_steps:
                act()

    leave_to_dynamo(wrapper)
    return wrapper
