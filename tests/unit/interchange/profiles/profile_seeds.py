"""Small files of each format of stacks and samples, for tests and for fuzzing."""

from __future__ import annotations

import json
import pickle
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.fuzz.campaign.mutate_json import by_bytes

from warpline.interchange.collapsed.collapsed_importer import importer as collapsed
from warpline.interchange.firefox.firefox_importer import importer as firefox
from warpline.interchange.framework.importer import Importer
from warpline.interchange.ftrace.ftrace_importer import importer as ftrace
from warpline.interchange.ftrace.trace_dat_importer import importer as trace_dat_importer
from warpline.interchange.perf.data_importer import importer as perf
from warpline.interchange.perf.script_importer import importer as perf_text
from warpline.interchange.pyinstrument.pyinstrument_importer import importer as pyinstrument
from warpline.interchange.speedscope.speedscope_importer import importer as speedscope
from warpline.interchange.torch_memory.snapshot_importer import importer as torch_memory
from warpline.interchange.v8.v8_importer import importer as v8


def call(name: str, line: int = -1, url: str = "") -> dict[str, Any]:
    """A ``callFrame`` of V8; lines count from 0."""
    return {"functionName": name, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": 0}


def v8_profile() -> bytes:
    nodes = [
        {"id": 1, "callFrame": call("(root)"), "hitCount": 0, "children": [2, 4]},
        {"id": 2, "callFrame": call("main", 0, "file:///a.js"), "hitCount": 1, "children": [3]},
        {"id": 3, "callFrame": call("", 9, "file:///a.js"), "hitCount": 2},
        {"id": 4, "callFrame": call("(idle)"), "hitCount": 1},
    ]
    samples = {"samples": [2, 3, 3, 4], "timeDeltas": [10, 100, 100, 250]}
    return json.dumps({"nodes": nodes, "startTime": 1000, "endTime": 1460, **samples}).encode()


def speedscope_file() -> bytes:
    frames = [{"name": "main", "file": "a.py", "line": 1}, {"name": "work"}]
    events = [{"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2},
              {"type": "C", "frame": 1, "at": 5}, {"type": "C", "frame": 0, "at": 9}]  # fmt: skip
    shared = {"type": "evented", "name": "loop", "unit": "milliseconds", "startValue": 0, "endValue": 9}
    samples = {"samples": [[0], [0, 1], [0, 1]], "weights": [2, 3.5, 1]}
    sampled = {"type": "sampled", "name": "worker", "unit": "seconds", "startValue": 1, "endValue": 7.5}
    profiles = [{**shared, "events": events}, {**sampled, **samples}]
    return json.dumps({"shared": {"frames": frames}, "profiles": profiles, "name": "run"}).encode()


def collapsed_stacks() -> bytes:
    return (
        b"process 12:python a.py;thread (7): MainThread;main (a.py:1);work (a.py:3) 20\n"
        b"process 12:python a.py;thread (7): MainThread;main (a.py:1) 3\r\njava;main;[unknown] 5\n\n"
    )


def pyinstrument_tree() -> bytes:
    leaf = {"function": "work", "file_path_short": "a.py", "line_no": 3, "time": 0.25, "children": []}
    root = {"function": "main", "file_path_short": "a.py", "line_no": 1, "time": 0.75, "children": [leaf]}
    head = {"start_time": 1.7e9, "duration": 0.75, "sample_count": 7, "program": "a.py"}
    return json.dumps({**head, "root_frame": root}).encode()


def pyinstrument_session() -> bytes:
    main, work = "main\x00a.py\x001\x01l3", "work\x00a.py\x003"
    records = [[[main], 0.1], [[main, work], 0.2], [[main], 0.1]]
    return json.dumps({"start_time": 1.7e9, "frame_records": records, "target_description": "a.py"}).encode()


def firefox_profile() -> bytes:
    thread = {
        "name": "main", "pid": "71", "tid": 72, "processName": "app",
        "stringArray": ["main", "work", "a.js", "lib.so", "GC"],
        "funcTable": {"name": [0, 1], "fileName": [2, None], "lineNumber": [1, None], "resource": [-1, 0]},
        "resourceTable": {"name": [3]},
        "frameTable": {"func": [0, 1], "line": [4, None]},
        "stackTable": {"frame": [0, 1], "prefix": [None, 0]},
        "samples": {"stack": [0, 1, None], "time": [1.0, 2.5, 3.0]},
        "markers": {"name": [4, 4, 4], "startTime": [1.0, 2.0, None], "endTime": [1.5, None, 2.75],
                    "phase": [1, 2, 3], "data": [{"type": "GC", "n": 3}, None, None]},
    }  # fmt: skip
    counter = {
        "name": "malloc",
        "category": "Memory",
        "pid": "71",
        "samples": {"time": [1, 2], "count": [100, -40]},
    }
    meta = {"interval": 1, "startTime": 1.7e12, "stackwalk": 1, "preprocessedProfileVersion": 50}
    return json.dumps({"meta": meta, "threads": [thread], "counters": [counter]}).encode()


def gecko_profile() -> bytes:
    thread = {
        "name": "GeckoMain", "tid": 5, "pid": 4, "processType": "default",
        "stringTable": ["(root)", "f (a.js:3)", "load"],
        "frameTable": {"schema": {"location": 0, "line": 1}, "data": [[0], [1, 3]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1]]},
        "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 2.0], [None, 3.0]]},
        "markers": {"schema": {"name": 0, "time": 1, "data": 2}, "data": [[2, 1.5, {"startTime": 1, "endTime": 1.5}]]},
    }  # fmt: skip
    return json.dumps(
        {"meta": {"interval": 1, "startTime": 1.7e12, "stackwalk": 0}, "threads": [thread]}
    ).encode()


def ftrace_text() -> bytes:
    return b"""# tracer: nop
#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION
          <idle>-0     (-----) [001] d..4  10.000100: sched_wakeup: comm=app pid=71 prio=120 target_cpu=001
          <idle>-0     (-----) [001] ...2  10.000200: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=app next_pid=71 next_prio=120
             app-71    (   70) [001] ...1  10.000250: tracing_mark_write: B|70|frame
             app-71    (   70) [001] ...1  10.000260: tracing_mark_write: C|70|queue|3
             app-71    (   70) [001] ...1  10.000300: tracing_mark_write: S|70|load|5
             app-71    (   70) [001] ...1  10.000350: tracing_mark_write: E
             app-71    (   70) [001] d..3  10.000400: sched_switch: prev_comm=app prev_pid=71 prev_prio=120 \
prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
          <idle>-0     (-----) [001] d..4  10.000450: cpu_frequency: state=1200000 cpu_id=1
          <idle>-0     (-----) [001] d..4  10.000500: sched_wakeup: comm=app pid=71 prio=120 target_cpu=001
          <idle>-0     (-----) [001] ...2  10.000600: sched_switch: swapper/1:0 [120] R ==> app:71 [120]
             app-71    (   70) [001] ...1  10.000700: tracing_mark_write: F|70|load|5
             app-71    (   70) [001] d..3  10.000800: irq_handler_entry: irq=5 name=eth0
a line of something else
""".replace(b"\\\n", b"")


def systrace_page() -> bytes:
    lines = ftrace_text().replace(b"\n", b"\\n\\\n").replace(b"a line of something else\\n\\\n", b"")
    return b'<!DOCTYPE html><script>var linuxPerfData = "\\\n' + lines + b'\\n";\n</script><b>more</b>'


def perf_script() -> bytes:
    return b"""# captured on: Tue
app  70/71  [003] 264874.155353:    1001001                cpu-clock:
\tffffffff810d47be smp_call+0x3e ([kernel.kallsyms])
\t    7f81ee50c5d7 main (/usr/bin/app)

app    71 264874.155400:          5 cycles:  ffffffffb42071f4 [unknown] ([kernel.kallsyms])
swapper     0 [003] 264874.155500: sched:sched_switch: prev_comm=swapper/3 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=app next_pid=71 next_prio=120
app    71 [003] 264874.155700: sched:sched_switch: prev_comm=app prev_pid=71 prev_prio=120 prev_state=S ==> \
next_comm=swapper/3 next_pid=0 next_prio=120
""".replace(b"\\\n", b"")


def perf_data(*, piped: bool = False, endian: str = "<") -> bytes:
    """Two events, three samples with callers, mappings, a fork, switches, a lost record, and a processor's trace."""

    def pack(form: str, *values: int) -> bytes:
        return struct.pack(endian + form, *values)

    def record(kind: int, body: bytes, misc: int = 0) -> bytes:
        return pack("IHH", kind, misc, 8 + len(body)) + body

    # Addresses, threads, times, cores, periods, callers and ids; all records have ids.
    kinds = 1 | 2 | 4 | 32 | 128 | 256 | 1 << 16
    flags = 1 << 18 if endian == "<" else 1 << 45
    attrs = [pack("2I5Q", 0, 64, config, 1000, kinds, 0, flags).ljust(64, b"\x00") for config in (0, 1)]

    def sample(number: int, time: int, period: int, callers: tuple[int, ...]) -> bytes:
        head = pack("QQ2iQ2IQ", number, callers[0], 70, 71, time, 1, 0, period)
        return record(9, head + pack(f"{len(callers) + 2}Q", len(callers) + 1, (1 << 64) - 512, *callers))

    def trailer(time: int) -> bytes:
        return pack("2iQ2IQ", 70, 71, time, 1, 0, 11)

    kernel = pack("2i3Q", -1, 0, 0xFFFFFFFF80000000, 1 << 24, 0) + b"[kernel.kallsyms]_text\x00\x00"
    program = pack("2i3Q", 70, 71, 0x400000, 0x1000, 0x2000) + b"/usr/bin/app\x00\x00\x00\x00"
    data = [
        record(1, kernel + trailer(1000)),
        record(3, pack("2i", 70, 71) + b"app\x00\x00\x00\x00\x00" + trailer(1000)),
        record(1, program + trailer(1000)),
        record(7, pack("4iQ", 70, 69, 71, 69, 1000) + trailer(1000)),
        record(14, trailer(1500)),
        sample(11, 2000, 5, (0x400010, 0x400020)),
        record(71, pack("3Q4I", 24, 0, 0, 0, 71, 1, 0)) + record(9, b"") * 3,
        sample(22, 3000, 7, (0xFFFFFFFF80000123, 0x400030)),
        record(2, pack("2Q", 11, 3) + trailer(3100)),
        sample(11, 4000, 9, (0x99,)),
        record(14, trailer(5000), 1 << 13),
    ]
    magic = b"PERFILE2" if endian == "<" else b"2ELIFREP"
    if piped:
        events = [record(64, attr + pack("Q", number)) for attr, number in zip(attrs, (11, 22), strict=True)]
        return magic + pack("Q", 16) + b"".join([*events, *data])
    ids = pack("2Q", 11, 22)
    ids_at, attrs_at = 104, 104 + len(ids)
    data_at = attrs_at + 2 * 80
    table = b"".join(attr + pack("2Q", ids_at + 8 * place, 8) for place, attr in enumerate(attrs))
    records = b"".join(data)
    header = pack("8Q4Q", 104, 80, attrs_at, 160, data_at, len(records), 0, 0, 0, 0, 0, 0)
    return magic + header + ids + table + records


def grouped_perf_data(*, inherits: bool = False) -> bytes:
    """Three samples of a group of two events, ``perf record -e '{cycles,instructions}:S'``.

    ``inherits`` adds a sample of a second thread, whose counts are its own.
    """
    kinds = 1 | 2 | 4 | 16 | 1 << 16
    attrs = [
        struct.pack("<2I5Q", 0, 64, config, 1000, kinds, 4 | 8, 2 * inherits).ljust(64, b"\x00")
        for config in (0, 1)
    ]

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<IHH", kind, 0, 8 + len(body)) + body

    def sample(time: int, cycles: int, instructions: int, thread: int = 71) -> bytes:
        counts = (2, cycles, 11, instructions, 22)
        return record(9, struct.pack("<2Q2iQ5Q", 11, 0x400010, 70, thread, time, *counts))

    events = [
        record(64, attr + struct.pack("<Q", number)) for attr, number in zip(attrs, (11, 22), strict=True)
    ]
    samples = [sample(2000, 100, 40), sample(3000, 250, 40), sample(4000, 300, 47)]
    if inherits:
        samples.insert(2, sample(3500, 90, 60, 72))
    return b"PERFILE2" + struct.pack("<Q", 16) + b"".join([*events, *samples])


def piped_perf_data() -> bytes:
    return perf_data(piped=True)


def memory_snapshot() -> bytes:
    main = {"name": "main", "filename": "a.py", "line": 1}
    work = {"name": "work", "filename": "b.py", "line": 2}
    begin, base = 1_700_000_000_000_000, 1 << 46

    def entry(action: str, at: int, offset: int, size: int, *frames: dict[str, Any]) -> dict[str, Any]:
        place = {"addr": base + offset, "size": size, "stream": 0, "time_us": begin + at}
        return {"action": action, **place, "frames": list(frames)}

    trace = [
        entry("segment_alloc", 0, 0, 1 << 21, main),
        entry("alloc", 10, 0, 1024, work, main),
        entry("alloc", 20, 2048, 512, main),
        entry("free_requested", 25, 0, 1024, main),
        entry("free_completed", 30, 0, 1024, main),
        entry("free_completed", 45, 4096, 56),
        {
            "action": "oom",
            "device_free": 1,
            "size": 1 << 40,
            "stream": 0,
            "time_us": begin + 60,
            "frames": [main],
        },
    ]
    blocks = [{"size": 2048, "state": "inactive"}, {"size": 512, "state": "active_allocated", "frames": [main]},
              {"address": base + 8192, "size": 256, "state": "active_pending_free", "frames": []}]  # fmt: skip
    segment = {"device": 0, "address": base, "total_size": 1 << 21, "blocks": blocks}
    marks = [
        {"stage": stage, "name": "step", "time_us": begin + time, "device": 0}
        for stage, time in (("START", 5), ("END", 40))
    ]
    return pickle.dumps({"segments": [segment], "device_traces": [trace, []], "external_annotations": marks})


_COMMON = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
_SWITCH_FORMAT = f"""name: sched_switch
ID: 7
format:
{_COMMON}\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:28;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:1;
\tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;
"""
_PRINT_FORMAT = f"name: print\nID: 5\nformat:\n{_COMMON}\tfield:char buf;\toffset:8;\tsize:0;\tsigned:0;\n"


def _sized(form: str, content: bytes) -> bytes:
    return struct.pack(form, len(content)) + content


def _ring_buffer_page() -> bytes:
    """A core that ran app from 1,000 to 1,600 ns and marked a frame in it."""

    def event(delta: int, raw: bytes) -> bytes:
        raw = raw.ljust(len(raw) + 3 & ~3, b"\x00")
        return struct.pack("<I", delta << 5 | len(raw) // 4) + raw

    def switch(pid: int, prev: int, following: int) -> bytes:
        comm = (
            (b"app" if prev else b"swapper").ljust(16, b"\x00"),
            (b"app" if following else b"swapper").ljust(16, b"\x00"),
        )
        return struct.pack("<HHi16siq16si", 7, 0, pid, comm[0], prev, 1, comm[1], following)

    mark = struct.pack("<HHi", 5, 0, 71)
    events = [event(0, switch(0, 0, 71)), event(100, mark + b"B|70|frame\n\x00"), event(200, mark + b"E\n\x00"),
              event(300, switch(71, 71, 0)), event(0, struct.pack("<HHi", 99, 0, 0))]  # fmt: skip
    data = b"".join(events)
    return (struct.pack("<QQ", 1000, len(data)) + data).ljust(4096, b"\x00")


_OWN_FORMATS = struct.pack("<I", 1) + _sized("<Q", _PRINT_FORMAT.encode())
_FORMATS = struct.pack("<I", 1) + b"sched\x00" + struct.pack("<I", 1) + _sized("<Q", _SWITCH_FORMAT.encode())
_PRINTS = _sized("<I", b'0x1 : "a"\n')
_NAMES = _sized("<Q", b"71 app\n")


def trace_dat(version: bytes = b"6") -> bytes:
    """The page as trace-cmd wrote it up to 2.9."""
    page = _ring_buffer_page()
    head = b"\x17\x08\x44tracing" + version + b"\x00\x00\x08" + struct.pack("<I", 4096)
    head += b"header_page\x00" + _sized("<Q", b"x") + b"header_event\x00" + _sized("<Q", b"y")
    head += _OWN_FORMATS + _FORMATS + _sized("<I", b"") + _PRINTS + _NAMES + struct.pack("<I", 1)
    head += b"options  \x00" + struct.pack("<HI", 2, 1) + b"z" + struct.pack("<H", 0) + b"flyrecord\x00"
    return head + struct.pack("<QQ", len(head) + 16, len(page)) + page


def trace_dat_7(packing: str = "zlib", pack: Callable[[bytes], bytes] | None = zlib.compress) -> bytes:
    """The page as trace-cmd writes it since 3.0: sections, two chains of options, packed unless ``pack`` is None."""

    def packed(content: bytes) -> bytes:
        return (
            content if pack is None else struct.pack("<II", len(pack(content)), len(content)) + pack(content)
        )

    def section(number: int, content: bytes, is_packed: bool) -> bytes:
        return struct.pack("<HHIQ", number, is_packed, 0, len(content)) + content

    def option(number: int, content: bytes) -> bytes:
        return struct.pack("<H", number) + _sized("<I", content)

    start = b"\x17\x08\x44tracing7\x00\x00\x08" + struct.pack("<I", 4096)
    out = bytearray(start + packing.encode() + b"\x001.0\x00" + bytes(8))
    first = len(out) - 8
    places = {}
    for number, content in ((17, _OWN_FORMATS), (18, _FORMATS), (20, _PRINTS), (21, _NAMES)):
        places[number] = len(out)
        out += section(number, packed(content), pack is not None)
    page = _ring_buffer_page()
    data = page if pack is None else struct.pack("<I", 1) + packed(page)
    buffer = len(out)
    out += section(3, data, pack is not None)
    last = len(out)
    where = struct.pack("<IQQ", 3, buffer + 16, len(data))
    instance = struct.pack("<Q", buffer) + b"\x00local\x00" + struct.pack("<II", 4096, 1) + where
    out += section(0, option(3, instance) + option(0, bytes(8)), False)
    out[first : first + 8] = struct.pack("<Q", len(out))
    chain = b"".join(option(number, struct.pack("<Q", place)) for number, place in places.items())
    out += section(0, option(8, struct.pack("<I", 4)) + chain + option(0, struct.pack("<Q", last)), False)
    return bytes(out)


_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    1 << 40,
    -(1 << 63),
    1 << 64,
    2.5,
    1e300,
    "",
    "12",
    "\ud800",
    [],
    [[]],
    {},
    {"id": 1},
)


def with_odd_value(content: bytes, rng: random.Random) -> bytes:
    """A JSON document in which a value, at any depth, is another, is missing, or stands twice."""
    document = json.loads(content)
    holders: list[Any] = [document]
    for holder in holders:
        values = holder.values() if isinstance(holder, dict) else holder
        holders += [value for value in values if isinstance(value, dict | list) and value]
    holder = rng.choice(holders)
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if (action := rng.random()) < 0.2:
        del holder[key]
    elif action < 0.3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = rng.choice(_ODD)
    return json.dumps(document).encode()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content with something else in it: a value where it is JSON, else bytes."""
    if content[:1] in (b"{", b"[") and rng.random() < 0.7:
        return with_odd_value(content, rng)
    return by_bytes(content, rng)


SEEDS: dict[str, tuple[Importer, Callable[[], bytes]]] = {
    "v8": (v8, v8_profile),
    "speedscope": (speedscope, speedscope_file),
    "collapsed": (collapsed, collapsed_stacks),
    "pyinstrument": (pyinstrument, pyinstrument_tree),
    "pyinstrument-session": (pyinstrument, pyinstrument_session),
    "firefox": (firefox, firefox_profile),
    "gecko": (firefox, gecko_profile),
    "ftrace": (ftrace, ftrace_text),
    "systrace": (ftrace, systrace_page),
    "perf-script": (perf_text, perf_script),
    "perf": (perf, perf_data),
    "trace-dat": (trace_dat_importer, trace_dat),
    "trace-dat-7": (trace_dat_importer, trace_dat_7),
    "torch-memory": (torch_memory, memory_snapshot),
    "perf-piped": (perf, piped_perf_data),
}
"""Importer and content by a name."""
