"""Runs inside the recorded program before its first line and hooks frameworks when they are imported.

The agent passes it builtins (`BUILTINS`, in the C of steps, torch and paddle) and `sources`, the names of sources that
need hooks. It imports nothing of Warpline and prints nothing. Each import of the program costs a dictionary lookup;
hooks are read only when their framework is imported. A hook that fails does not change the program.
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
    "jax_hooks": ("steps", ("jax._src.monitoring", "jax._src.profiler")),
    "paddle_hooks": ("steps", ("paddle",)),
    "paddle_operators": ("paddle", ("paddle.base.core",)),
}
"""For each file of hooks: their source, and the modules that they hook."""


UNHOOKED = {
    "tensorflow": "TensorFlow is not hooked: no steps, phases or modules are recorded; files of its own profiler can"
    " be imported",
}
"""Known frameworks without hooks, and the message when one is imported."""
COMMON = "common_hooks"
BUILTINS = (
    "now", "enter", "leave", "record", "text", "say", "autograd", "after_operators", "paddle", "operator", "heap",
    "quick_call", "drop",
)  # fmt: skip
"""Functions of the agent, which never raise."""


class Watcher:
    """A finder in ``sys.meta_path`` that delegates to the others and hooks modules after their execution."""

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
        """The spec of the other finders for a module to be hooked; None for any other module."""
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
        """Have `executed` called after the loader has executed the module."""
        try:
            execute = loader.exec_module

            def exec_module(module: Any) -> None:
                loader.__dict__.pop("exec_module", None)
                execute(module)
                self.executed(name, module)

            loader.exec_module = exec_module
        except Exception as error:  # a custom loader may not allow its attributes to be set
            self.failed(name, error)

    def executed(self, name: str, module: Any) -> None:
        """Hook a module that has been executed."""
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
        except Exception as error:  # another version may raise anything; the program's import must succeed
            self.failed(name, error, file)

    def common(self) -> dict[str, Any]:
        """The globals of `COMMON`, which all hooks share."""
        if COMMON not in self.hooks:
            self.hooks[COMMON] = self.read(COMMON)
        return self.hooks[COMMON]

    def read(self, file: str) -> dict[str, Any]:
        """The globals of a file beside this one.

        It can be imported under its own name, because torch's compiler imports the modules of all that it inlines.
        """
        path = __file__[: -len("boot.py")] + file + ".py"
        with open(path, encoding="utf-8") as source:
            code = compile(source.read(), path, "exec")
        module = type(sys)("_warpline_" + file)
        sys.modules[module.__name__] = module
        names: dict[str, Any] = vars(module)
        names.update({"__builtins__": __builtins__, "__file__": path})
        names.update(self.api, failed=self.failed, tell=self.tell, read=self.read)
        if file != COMMON:
            names.update((name, value) for name, value in self.common().items() if name[0] != "_")
        exec(code, names)
        return names

    def failed(self, name: str, error: Exception, file: str = "torch_hooks") -> None:
        """Report a hook that does not work, once; the capture shows it."""
        self.tell(HOOKS[file][0], f"{name} is not hooked: {type(error).__name__}: {error}")

    def tell(self, source: str, reason: str = "") -> None:
        """Report whether a source works in this process, and what it does not record."""
        reasons = self.failures.setdefault(source, [])
        if reason and reason not in reasons:
            reasons.append(reason)
        is_hooked = any(HOOKS[file][0] == source for file in self.hooks if file in HOOKS)
        self.api["say"](source, is_hooked, "; ".join(reasons), "")

    def catch_up(self) -> None:
        """Hook modules that are imported already, and those being imported as soon as they are complete."""
        for name in list(self.waits):
            self.look_for(name)
            self.await_import(name)

    def look_for(self, name: str) -> None:
        """Hook a module that is imported completely."""
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is not None and not getattr(spec, "_initializing", False):
            self.executed(name, module)

    def await_import(self, name: str) -> None:
        """Hook a module whose import began before this finder was installed: the release of its lock is its end."""
        try:
            lock = sys.modules["_frozen_importlib"]._module_locks[name]()
            release = lock.release

            def released() -> None:
                release()
                self.look_for(name)

            lock.release = released
        except (AttributeError, KeyError):
            pass  # it is not being imported, or this Python has no such locks


def start(names: Mapping[str, Any]) -> None:
    """Install the finder."""
    watcher = Watcher({name: names[name] for name in BUILTINS}, names["sources"].split(","))
    sys.meta_path.insert(0, watcher)
    watcher.catch_up()


start(globals())
