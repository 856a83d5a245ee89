"""The collector of ITT, called as the copy of ITT inside PyTorch calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import warpline

PROGRAM = """
import ctypes, os, threading
lib = ctypes.CDLL(os.environ["INTEL_LIBITTNOTIFY64"])
class Function(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("place", ctypes.POINTER(ctypes.c_void_p)), ("init", ctypes.c_void_p),
                ("null", ctypes.c_void_p), ("group", ctypes.c_int)]
class Global(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_ubyte * 8), ("version", ctypes.c_ulong * 3), ("counters", ctypes.c_long * 3),
                ("mutex", ctypes.c_char * 40), ("pointers", ctypes.c_void_p * 3),
                ("functions", ctypes.POINTER(Function))]
class Id(ctypes.Structure):
    _fields_ = [("d", ctypes.c_ulonglong * 3)]
class Domain(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_int), ("name", ctypes.c_char_p), ("rest", ctypes.c_void_p * 4)]
names = [b"__itt_domain_create", b"__itt_string_handle_create", b"__itt_task_begin", b"__itt_task_end", b"__itt_pause"]
places = [ctypes.c_void_p() for _ in names]
functions = (Function * (len(names) + 1))(*(Function(n, ctypes.pointer(p)) for n, p in zip(names, places)))
world = Global(functions=functions)
lib.__itt_api_init(ctypes.byref(world), 0)
assert places[4].value is None
create = ctypes.CFUNCTYPE(ctypes.POINTER(Domain), ctypes.c_char_p)(places[0].value)
handle = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(places[1].value)
begin = ctypes.CFUNCTYPE(None, ctypes.c_void_p, Id, Id, ctypes.c_void_p)(places[2].value)
end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(places[3].value)
torch = create(b"PyTorch")
assert torch.contents.flags == 1 and create(b"oneDNN").contents.flags == 0
assert handle(b"aten::add") == handle(b"aten::add") != handle(b"aten::mul")
def work():
    for _ in range(50):
        begin(torch, Id(), Id(), handle(b"aten::add"))
        begin(torch, Id(), Id(), handle(b"aten::mul"))
        end(torch)
        end(torch)
    begin(torch, Id(), Id(), handle(b"my own range"))
    end(torch)
    end(torch)  # one too many
early = Domain(1, b"PyTorch")  # made before the collector was there
begin(ctypes.addressof(early), Id(), Id(), handle(b"aten::early"))
end(ctypes.addressof(early))
work()
other = threading.Thread(target=work)
other.start()
other.join()
"""


def test_operators_nest_and_have_the_names_that_were_given(tmp_path: Path) -> None:
    output = tmp_path / "x.h5"
    words = [sys.executable, "-m", "warpline", "record", "-q", "--trace", "torch", "-o", str(output), "--"]
    done = subprocess.run(
        [*words, sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert (done.returncode, done.stderr) == (0, "")
    with warpline.open(output) as capture:
        operators = capture.events("operator").to_pandas()
        ranges = capture.events("range").to_pandas()
        tree = capture.report("operator").to_pandas()
    assert operators.groupby("name").size().to_dict() == {
        "aten::add": 100,
        "aten::mul": 100,
        "aten::early": 1,
    }
    assert operators.thread_id.nunique() == 2
    assert list(ranges.name) == ["my own range"] * 2
    assert tree[tree.name == "aten::mul"]["count"].tolist() == [100, 100]
