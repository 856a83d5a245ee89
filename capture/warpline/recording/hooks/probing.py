"""Tries the hooks for ``warpline doctor``, with a small stand-in for torch, which is slow to import."""

from __future__ import annotations

from warpline.i18n import english
from warpline.recording.agent.probing import bytes_of
from warpline.recording.agent.trials import PythonTrial
from warpline.recording.hooks.injection import hooking
from warpline.recording.unavailable import Unavailable

_PROGRAM = """
import sys, types, time, importlib.abc, importlib.machinery
end = time.monotonic() + 5
while not any(type(finder).__name__ == "Watcher" for finder in sys.meta_path) and time.monotonic() < end:
    pass
class Loader(importlib.abc.Loader):
    def create_module(self, spec): return None
    def exec_module(self, module):
        class Module:
            training = True
            def __call__(self): pass
            def named_modules(self): return [("", self)]
        module.Module = Module
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, Loader(), is_package=True) if name.startswith("torch") else None
sys.meta_path.append(Finder())
for name in [name for name in sys.modules if name.startswith("torch")]: del sys.modules[name]
import torch.nn.modules.module
torch.nn.modules.module.Module()()
"""


HOOKS_TRIAL = PythonTrial(
    _PROGRAM,
    lambda spools: bytes_of(spools, frozenset({701})) > 0,
    hooking("steps", {}),
    Unavailable(
        english("hooks cannot be installed in this Python"),
        english("use a CPython that is not statically linked"),
    ),
    text=english("{pythons}; PyTorch, Paddle and JAX are hooked, TensorFlow is not"),
)
"""Checks that a call of a module is recorded, which all framework hooks depend on."""
