"""Runs inside the recorded program, before its first line: waits for frameworks and has hooks put into them.

The agent hands it builtins (`BUILTINS`, in the C of steps, torch and paddle) and `sources`, the names of those that
want hooks. It imports nothing of Warpline, prints nothing, and costs a dictionary lookup for each module that the
program imports until one of a framework is; only then are that framework's hooks read. A hook that fails leaves the
program as it is without us.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HOOKS = {
    "torch_hooks": (
        "steps",
        (
            "torch._dynamo.eval_frame",
            "torch._dynamo.symbolic_convert",
            "torch.amp.grad_scaler",
            "torch.autograd",
            "torch.compiler",
            "torch.distributed.distributed_c10d",
            "torch.nn.modules.module",
            "torch.optim.optimizer",
            "torch.serialization",
            "torch.utils.data._utils.fetch",
            "torch.utils.data._utils.worker",
            "torch.utils.data.dataloader",
        ),
    ),
    "torch_operators": ("torch", ("torch",)),
    "paddle_hooks": ("steps", ("paddle",)),
    "paddle_operators": ("paddle", ("paddle.base.core",)),
}
"""By the file with the hooks: the source they are for, and the modules whose import is waited for."""


UNHOOKED = {
    "jax": "JAX is not hooked: no steps, phases, modules of it; its own profiler's files can be imported",
    "tensorflow": "TensorFlow is not hooked: no steps, phases, modules of it; its own profiler's files can be imported",
}
"""Frameworks that are known and left alone, and what is said when one is imported."""
COMMON = "common_hooks"
BUILTINS = (
    "now", "enter", "leave", "record", "text", "say", "autograd", "after_operators", "paddle", "operator", "heap",
    "quick_call", "drop",
)  # fmt: skip
"""Functions of the agent, which never raise."""


class Watcher:
    """A finder of ``sys.meta_path`` that finds nothing itself: it has modules hooked when they were executed."""

    def __init__(self, api: Mapping[str, Any], sources: list[str]) -> None:
        self.api = api
        self.waits = {
            module: file
            for file, (source, modules) in HOOKS.items()
            if source in sources
            for module in modules
        }
        if "steps" in sources:
            self.waits.update(UNHOOKED)
        self.hooks: dict[str, dict[str, Any]] = {}
        self.failures: dict[str, list[str]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders have, if it is one that is waited for."""
        if name not in self.waits:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self.follow(name, spec.loader)
                return spec
        return None

    def follow(self, name: str, loader: Any) -> None:
        """Have the loader tell when it has executed the module."""
        try:
            execute = loader.exec_module

            def exec_module(module: Any) -> None:
                loader.__dict__.pop("exec_module", None)
                execute(module)
                self.executed(name, module)

            loader.exec_module = exec_module
        except Exception as error:  # a loader may be anybody's, without attributes or with read-only ones
            self.failed(name, error)

    def executed(self, name: str, module: Any) -> None:
        """Hook a module that is complete."""
        file = self.waits.pop(name, None)
        if file is None:
            return
        if name in UNHOOKED:
            self.tell("steps", UNHOOKED[name])
            return
        try:
            if file not in self.hooks:
                self.hooks[file] = self.read(file)
                self.tell(HOOKS[file][0])
            self.hooks[file]["HOOKS"][name](module)
        except Exception as error:  # of another version anything; the program's import must succeed
            self.failed(name, error, file)

    def common(self) -> dict[str, Any]:
        """What all hooks are made of."""
        if COMMON not in self.hooks:
            self.hooks[COMMON] = self.read(COMMON)
        return self.hooks[COMMON]

    def read(self, file: str) -> dict[str, Any]:
        """The globals of a file beside this one."""
        path = __file__[: -len("boot.py")] + file + ".py"
        with open(path, encoding="utf-8") as source:
            code = compile(source.read(), path, "exec")
        names: dict[str, Any] = {
            "__builtins__": __builtins__,
            "__name__": "_warpline_" + file,
            "__file__": path,
        }
        names.update(self.api, failed=self.failed, tell=self.tell, read=self.read)
        if file != COMMON:
            names.update((name, value) for name, value in self.common().items() if name[0] != "_")
        exec(code, names)
        return names

    def failed(self, name: str, error: Exception, file: str = "torch_hooks") -> None:
        """Say once what does not work; the capture tells it."""
        self.tell(HOOKS[file][0], f"{name} is not hooked: {type(error).__name__}: {error}")

    def tell(self, source: str, reason: str = "") -> None:
        """Say of a source that it works in this process, where a framework of its is hooked, and what it leaves out."""
        reasons = self.failures.setdefault(source, [])
        if reason and reason not in reasons:
            reasons.append(reason)
        is_hooked = any(HOOKS[file][0] == source for file in self.hooks if file in HOOKS)
        self.api["say"](source, is_hooked, "; ".join(reasons), "")

    def catch_up(self) -> None:
        """Hook what the program has imported already, and what it is importing when that is done."""
        for name in list(self.waits):
            self.look_for(name)
            self.await_import(name)

    def look_for(self, name: str) -> None:
        """Hook a module that is complete, however it came."""
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is not None and not getattr(spec, "_initializing", False):
            self.executed(name, module)

    def await_import(self, name: str) -> None:
        """An import that goes on now may have passed the finders before this was one: its lock tells its end."""
        try:
            lock = sys.modules["_frozen_importlib"]._module_locks[name]()
            release = lock.release

            def released() -> None:
                release()
                self.look_for(name)

            lock.release = released
        except (AttributeError, KeyError):
            pass  # nobody imports it, or this Python has no such locks


def start(names: Mapping[str, Any]) -> None:
    """Begin to wait."""
    watcher = Watcher({name: names[name] for name in BUILTINS}, names["sources"].split(","))
    sys.meta_path.insert(0, watcher)
    watcher.catch_up()


start(globals())
