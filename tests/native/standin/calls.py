"""Calls modules in every way there is, before somebody compiles and afterwards; tells what it saw, as JSON."""

import copy
import gc
import inspect
import json
import os
import pickle
import sys
import threading

import torch
from torch._dynamo import eval_frame

Module = torch.nn.Module
PLAIN = inspect.unwrap(Module.__call__)


class Leaf(Module):
    def forward(self, *values, **named):
        return values, named


class Other(Leaf):
    pass


class Net(Module):
    def forward(self, x):
        return self.children["second"](self.children["first"](x, named=x), 2)


class Again(Module):
    def forward(self, depth):
        return depth and 1 + self(depth - 1)


class Fails(Module):
    def forward(self, error):
        raise error


class Own(Leaf):
    def __call__(self, *values):
        return "own", super().__call__(*values)


class Slow(Module):
    def forward(self):
        yield 1
        yield 2


class Bare(Leaf):
    @property
    def training(self):
        raise AttributeError("none of this one's")

    @training.setter
    def training(self, value):
        pass


class Interrupted(Leaf):
    """While it is asked for the flag a key is pressed."""

    pressed = True

    @property
    def training(self):
        if self.pressed:
            self.pressed = False
            raise KeyboardInterrupt
        return True

    @training.setter
    def training(self, value):
        pass


class Broken(Leaf):
    def named_modules(self, prefix=""):
        raise ValueError("mine")


class KeptLeaf(Leaf):
    pass


class KeptNet(Net):
    pass


class KeptFails(Fails):
    pass


def calls():
    """What everything returned."""
    told = []
    net = Net(first=Leaf(), second=Leaf())
    for _ in range(3):
        told.append(repr(net(1)))
        told.append(repr(net(x=1)))
    again, fails, own, slow, bare, broken = Again(), Fails(), Own(), Slow(), Bare(), Broken()
    for _ in range(2):
        told.append(again(4))
        for error in (KeyError("k"), StopIteration(3), KeyboardInterrupt()):
            try:
                fails(error)
            except BaseException as caught:
                inside = caught.__traceback__.tb_next
                told.append((repr(caught), caught is error, inside is not None, caught.__context__ is None))
        try:
            net()
        except TypeError as caught:
            told.append(str(caught))
        try:
            Module.__call__()
        except TypeError as caught:
            told.append(str(caught).partition("(")[0])
        told.append(repr((own(1), list(slow()), bare(2), broken(3))))
        told.append(repr((net.__call__(5), Module.__call__(net, 6), Module.__call__.__get__(net)(7))))
        told.append(repr(list(map(net, (8, 9)))))
        thread = threading.Thread(target=lambda: told.append(repr(net(10))))
        thread.start()
        thread.join()
    pressed = Interrupted()
    for pressed.pressed in (False, False, True, False):
        try:
            told.append(repr(pressed(10)))
        except KeyboardInterrupt:
            told.append("interrupted")
    net.training = False
    net(11)
    net.training, torch._C.GRAD[0] = True, False
    net(12)
    torch._C.GRAD[0] = True
    twin, ours = copy.deepcopy(net), pickle.loads(pickle.dumps(net.__call__))
    told.append(repr((twin(13), ours(14), twin(15))))
    for kind in (Leaf, Other, Leaf, Other):  # one after the other in the same place
        module = kind()
        module(1)
        module(2)
        del module
    where, name = vars(torch.compiler), "_is_compiling_flag"
    if os.environ.get("OLD_TORCH"):
        where, name = torch.compiler.old, "is"
    where[name] = True
    told.append(repr(net(16)))
    where[name] = False
    child = os.fork()
    if child == 0:
        net(17)
        os._exit(0)
    os.waitpid(child, 0)
    return told


def looks():
    """What a call of a module is to who looks at it."""
    call = Module.__call__
    return [
        call.__name__, call.__qualname__, call.__module__, call.__doc__,
        str(inspect.signature(call)), str(call).split(" at ")[0],
        call.__wrapped__ is PLAIN, copy.copy(call) is call, copy.deepcopy(call) is call, callable(call),
        inspect.isroutine(call), inspect.ismethod(Leaf().__call__), Leaf().__call__.__func__ is call,
        inspect.unwrap(call) is PLAIN, call == Module.__call__, hasattr(call, "nothing"), len({call, Module.__call__}),
    ]  # fmt: skip


def kept():
    """How many references and blocks of memory very many calls leave behind."""
    net, value, fails = KeptNet(first=KeptLeaf(), second=KeptLeaf()), object(), KeptFails()
    error = KeyError("again")
    watched = [
        None,
        True,
        net,
        value,
        Module.__call__,
        KeptNet,
        PLAIN,
        torch._C.is_grad_enabled,
        net.children,
        error,
    ]

    def some():
        for _ in range(150):
            net(value), net(x=value), net.__call__(value)
            try:
                fails(error)
            except KeyError:
                error.__traceback__ = None

    some()
    gc.collect()
    before = [sys.getrefcount(one) for one in watched], sys.getallocatedblocks()
    for _ in range(3):
        some()
    gc.collect()
    grown = [sys.getrefcount(one) - number for one, number in zip(watched, before[0], strict=True)]
    return max(map(abs, grown)) < 200 and abs(sys.getallocatedblocks() - before[1]) < 200


def said():
    return {"is_function": inspect.isfunction(Module.__call__), "looks": looks(), "told": calls()}


eval_frame.DisableContext()
first = said()
keeps_nothing = kept()
kinds = [type(eval_frame.UNPATCHED).__name__]
assert eval_frame.OptimizeContext(callable).told == (callable, True)
second = said()
kinds.append(type(eval_frame.UNPATCHED).__name__)
print(json.dumps({"first": first, "second": second, "kinds": kinds, "keeps_nothing": keeps_nothing}))
