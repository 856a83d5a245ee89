"""What frames of stacks say, and which of them tells a person where a program was."""

from __future__ import annotations

import pytest

from warpline.model.frames import StackFrame, parse_frame, telling_frame


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("fight (/srv/me/demo.py:56)", StackFrame("fight", "/srv/me/demo.py", 56)),
        (
            "load.<locals>.<lambda> (C:\\my files\\a b.py:7)",
            StackFrame("load.<locals>.<lambda>", "C:\\my files\\a b.py", 7),
        ),
        ("<module> (<string>:4)", StackFrame("<module>", "<string>", 4)),
        (
            "torch/nn/modules/module.py(1501): _call_impl",
            StackFrame("_call_impl", "torch/nn/modules/module.py", 1501),
        ),
        ("std::vector<int>::push_back(int&&)", StackFrame("std::vector<int>::push_back(int&&)")),
        ("0x7f00 [libc.so.6]", StackFrame("0x7f00", module="libc.so.6")),
        ("ns::f(int [3], T[]) [a b.so.1]", StackFrame("ns::f(int [3], T[])", module="a b.so.1")),
        ("[code made at run time]", StackFrame("", module="code made at run time")),
        ("operator[]", StackFrame("operator[]")),
        ("", StackFrame("")),
    ],
)
def test_frames_of_profilers_are_understood(text: str, frame: StackFrame) -> None:
    assert parse_frame(text) == frame


def test_places_are_short_and_functions_where_there_is_no_file() -> None:
    assert parse_frame("fight (/srv/me/demo.py:56)").place == "demo.py:56"
    assert parse_frame("f (C:\\code\\a.py:7)").place == "a.py:7"
    assert parse_frame("malloc").place == "malloc"
    assert parse_frame("deflate [libz.so.1]").place == "deflate [libz.so.1]"
    assert parse_frame("[kernel]").place == "[kernel]"


def test_the_programs_own_line_tells_more_than_the_librarys() -> None:
    library = "Condition.wait (/usr/lib/python3.11/threading.py:327)"
    installed = "forward (/opt/venv/lib/python3.12/site-packages/torch/nn.py:9)"
    own = "log (/srv/me/demo.py:65)"
    found = telling_frame([library, installed, own, "main (/srv/me/demo.py:1)"])
    assert found is not None
    assert found.place == "demo.py:65"
    fallback = telling_frame(["malloc", library, installed])
    assert fallback is not None
    assert fallback.place == "nn.py:9"
    assert telling_frame(["malloc"]) is None
    assert telling_frame([]) is None


def test_a_thread_of_the_library_waits_where_the_library_does_something() -> None:
    folder = "/usr/lib/python3.11"
    run = [f"Thread.run ({folder}/threading.py:982)", f"Thread._bootstrap ({folder}/threading.py:1002)"]
    wait = f"Condition.wait ({folder}/threading.py:327)"
    feeder = telling_frame([wait, f"Queue._feed ({folder}/multiprocessing/queues.py:231)", *run])
    assert feeder is not None
    assert feeder.place == "queues.py:231"
    nothing_else = telling_frame([wait, *run])
    assert nothing_else is not None
    assert nothing_else.place == "threading.py:327"
