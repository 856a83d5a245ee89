"""Large files of each format, made record by record: they tell how fast an importer is, not whether it is right."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.fuzz.campaign.mutate_pb import varint
from tests.fuzz.guided.formats import message

_STEP_NS = 10_000


def slices(path: Path, count: int) -> None:
    """A Perfetto trace of pairs of nested slices on 16 threads, 20 bytes a packet."""
    with path.open("wb") as file:
        file.writelines(_header())
        for number in range(count // 2):
            time_ns, track = 10_000_000_000 + number * 1000, bytes([0x58, 10 + number % 16])
            for kind, offset in ((1, 0), (1, 100), (2, 300), (2, 900)):
                name = bytes([0x50, 1 + number % 48]) if kind == 1 else b""
                file.write(_event(time_ns + offset, bytes([0x48, kind]) + track + name))


def annotated_slices(path: Path, count: int) -> None:
    """As `slices`, each with a category and three debug annotations, one of them different in each event."""
    names = [message((1, number), (2, b"argument %d" % number)) for number in (1, 2, 3)]
    with path.open("wb") as file:
        file.writelines(_header(*((3, name) for name in names)))
        for number in range(count // 2):
            time_ns, track = 10_000_000_000 + number * 1000, bytes([0x58, 10 + number % 16])
            notes = b"".join(
                bytes([0x22, len(note)]) + note
                for note in (
                    b"\x08\x01\x20" + varint(number),
                    b"\x08\x02\x32\x05" + (b"host", b"copy")[number % 2] + b"_",
                    b"\x08\x03\x10" + bytes([number % 2]),
                )
            )
            for kind, offset in ((1, 0), (1, 100), (2, 300), (2, 900)):
                name = bytes([0x50, 1 + number % 48, 0x18, 1]) + notes if kind == 1 else b""
                file.write(_event(time_ns + offset, bytes([0x48, kind]) + track + name))


def _header(*interned: tuple[int, bytes]) -> Iterator[bytes]:
    names = message(
        (1, message((1, 1), (2, b"category"))),
        *((2, message((1, number), (2, b"name %d" % number))) for number in range(1, 50)),
        *interned,
    )
    yield message((1, message((10, 3), (13, 1), (12, names))))
    for number in range(16):
        thread = message((1, 10 + number), (4, message((1, 7), (2, 8 + number))))
        yield message((1, message((10, 3), (60, thread))))


def _event(time_ns: int, event: bytes) -> bytes:
    packet = b"\x40" + varint(time_ns) + b"\x50\x03\x68\x02\x5a" + varint(len(event)) + event
    return b"\x0a" + varint(len(packet)) + packet


def rocprofv3_json(path: Path, count: int) -> None:
    """JSON of rocprofv3: calls of HIP with their kernels, 50 different ones."""
    names = [{"kernel_id": number, "formatted_kernel_name": f"kernel_{number}<float>(float*, int)"}
             for number in range(50)]  # fmt: skip
    head = {
        "metadata": {"pid": 7, "command": ["train"]},
        "agents": [{"id": {"handle": 3}, "type": 2, "logical_node_type_id": 0, "name": "gfx950"}],
        "strings": {"buffer_records": [
            {"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel"]},
        ]},
        "kernel_symbols": names,
    }  # fmt: skip
    with path.open("w") as file:
        file.write('{"rocprofiler-sdk-tool":[' + json.dumps(head)[:-1] + ',"buffer_records":{')
        for sort in ("kernel_dispatch", "hip_api"):
            file.write(f'{"," if sort == "hip_api" else ""}"{sort}":[')
            for number in range(count // 2):
                begin = 1_000_000_000 + number * _STEP_NS
                file.write(
                    f'{"," if number else ""}{{"size":184,"kind":1,"operation":0,"thread_id":{8 + number % 4},'
                    f'"correlation_id":{{"internal":{number + 1},"external":0}},"start_timestamp":{begin},'
                    f'"end_timestamp":{begin + 4000}'
                )
                if sort == "kernel_dispatch":
                    file.write(
                        ',"dispatch_info":{"size":72,"agent_id":{"handle":3},"queue_id":{"handle":1},'
                        f'"kernel_id":{number % 50},"dispatch_id":{number},"private_segment_size":0,'
                        '"group_segment_size":0,"workgroup_size":{"x":512,"y":1,"z":1},'
                        '"grid_size":{"x":5120,"y":1,"z":1}},"stream_id":{"handle":0}'
                    )
                file.write("}")
            file.write("]")
        file.write("}}]}")


def otlp_json(path: Path, count: int) -> None:
    """One OTLP document: traces of ten spans, each with attributes of its own, of four services."""
    with path.open("w") as file:
        file.write('{"resourceSpans":[')
        for service in range(4):
            name = {"key": "service.name", "value": {"stringValue": f"service {service}"}}
            file.write(
                f'{"," if service else ""}{{"resource":{{"attributes":[{json.dumps(name)}]}},'
                '"scopeSpans":[{"scope":{"name":"library"},"spans":['
            )
            for number in range(count // 4):
                begin = 1_700_000_000_000_000_000 + number * _STEP_NS
                span = number * 4 + service + 1
                file.write(
                    f'{"," if number else ""}{{"traceId":"{1 + number // 10:032x}","spanId":"{span:016x}",'
                    f'"parentSpanId":"{(span - 1) if span % 10 else 0:016x}","name":"GET /items/{number % 100}",'
                    f'"kind":2,"startTimeUnixNano":"{begin}","endTimeUnixNano":"{begin + 8000}",'
                    '"attributes":[{"key":"http.status","value":{"intValue":"200"}},'
                    f'{{"key":"item","value":{{"intValue":"{number}"}}}}],"status":{{}}}}'
                )
            file.write("]}]}")
        file.write("]}")


def otlp_lines(path: Path, count: int) -> None:
    """As the file exporter writes it: a document for every 100 spans."""
    with path.open("w") as file:
        for first in range(0, count, 100):
            spans = ",".join(
                f'{{"traceId":"{1 + number // 10:032x}","spanId":"{number + 1:016x}","name":"op {number % 50}",'
                f'"kind":1,"startTimeUnixNano":"{1_700_000_000_000_000_000 + number * _STEP_NS}",'
                f'"endTimeUnixNano":"{1_700_000_000_000_000_000 + number * _STEP_NS + 5000}"}}'
                for number in range(first, first + 100)
            )
            file.write(
                '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},'
                f'"scopeSpans":[{{"scope":{{}},"spans":[{spans}]}}]}}]}}\n'
            )


def pprof_profile(path: Path, count: int) -> None:
    """A profile of stacks of 20 frames of 5,000 functions, packed with gzip."""
    texts = ["", "cpu", "nanoseconds", *(f"package/module.function{number}" for number in range(5000))]
    with gzip.open(path, "wb", 1) as file:
        file.write(message((1, message((1, 1), (2, 2)))))
        for number in range(count):
            places = b"".join(
                varint(1 + (number * 31 + depth * (1 + number % 7)) % 5000) for depth in range(20)
            )
            file.write(message((2, message((1, places), (2, varint(10_000_000 + number % 1000))))))
        for number in range(1, 5001):
            file.write(
                message((4, message((1, number), (3, 4096 + number), (4, message((1, number), (2, 7))))))
            )
            file.write(message((5, message((1, number), (2, 2 + number)))))
        for text in texts:
            file.write(message((6, text.encode())))


def perf_script(path: Path, count: int) -> None:
    """Text of ``perf script``: samples of 8 frames."""
    functions = [f"function_{number}+0x{number:x} (/usr/lib/libwork.so)" for number in range(500)]
    with path.open("w") as file:
        for number in range(count):
            file.write(f"python {100 + number % 4}/{110 + number % 16} [{number % 4:03}] {1000 + number * 1e-5:.6f}: "
                       "    1001001 cpu-clock: \n")  # fmt: skip
            first = number * 13
            file.writelines(
                f"\t    7f{4096 + (first + depth) % 500:08x} {functions[(first + depth * 7) % 500]}\n"
                for depth in range(8)
            )
            file.write("\n")


def ftrace_text(path: Path, count: int) -> None:
    """Text of ftrace: switches between two threads of each of four cores."""
    with path.open("w") as file:
        file.write("# tracer: nop\n#\n")
        for number in range(count):
            core = number % 4
            turn = number // 4 % 2
            here, there = 100 + 2 * core + turn, 101 + 2 * core - turn
            file.write(
                f"           work-{here}   [{core:03}] d..3. {1000 + number * 1e-5:.6f}: sched_switch: "
                f"prev_comm=work prev_pid={here} prev_prio=120 prev_state=S ==> "
                f"next_comm=work next_pid={there} next_prio=120\n"
            )


def speedscope(path: Path, count: int) -> None:
    """A sampled profile of speedscope, stacks of 20 frames."""
    frames = [{"name": f"function {number}", "file": "a.py", "line": number} for number in range(500)]
    head = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames}}
    profile = {"type": "sampled", "name": "t", "unit": "seconds", "startValue": 0, "endValue": 1}
    with path.open("w") as file:
        file.write(json.dumps(head)[:-1] + ',"profiles":[' + json.dumps(profile)[:-1] + ',"samples":[')
        for number in range(count):
            stack = ",".join(str((number % 97 + depth * 3) % 500) for depth in range(20))
            file.write(f"{',' if number else ''}[{stack}]")
        file.write('],"weights":[' + ",".join(itertools.repeat("0.01", count)) + "]}]}")


def v8_profile(path: Path, count: int) -> None:
    """A profile of V8: 1,000 nodes, each the callee of the one before."""
    nodes: list[dict[str, object]] = [
        {"id": number, "callFrame": {"functionName": f"f{number}", "url": "a.js", "lineNumber": number}}
        for number in range(1, 1001)
    ]
    for number, node in enumerate(nodes[:-1]):
        node["children"] = [number + 2]
    with path.open("w") as file:
        file.write(
            f'{{"nodes":{json.dumps(nodes)},"startTime":1000,"endTime":{1000 + 100 * count},"samples":['
        )
        file.write(",".join(str(1 + number % 1000) for number in range(count)))
        file.write('],"timeDeltas":[' + ",".join(itertools.repeat("100", count)) + "]}")


def firefox(path: Path, count: int) -> None:
    """A processed profile of one thread: 1,000 stacks."""
    places = list(range(1000))
    thread = {
        "name": "main", "pid": 7, "tid": 8, "stringArray": [f"f{number}" for number in places],
        "funcTable": {"length": 1000, "name": places}, "frameTable": {"length": 1000, "func": places},
        "stackTable": {"length": 1000, "frame": places, "prefix": [None, *places[:-1]]},
    }  # fmt: skip
    with path.open("w") as file:
        file.write('{"meta":{"interval":1,"startTime":0,"preprocessedProfileVersion":40},"threads":[')
        file.write(json.dumps(thread)[:-1] + ',"samples":{"stack":[')
        file.write(",".join(str(number % 1000) for number in range(count)))
        file.write(
            '],"time":[' + ",".join(str(number) for number in range(count)) + f'],"length":{count}}}}}]}}'
        )


def collapsed(path: Path, count: int) -> None:
    """Collapsed stacks of 20 frames, all of them different."""
    with path.open("w") as file:
        for number in range(count):
            frames = ";".join(
                f"function{(number * 31 + depth * (1 + number % 7)) % 5000}" for depth in range(20)
            )
            file.write(f"{frames} {1 + number % 9}\n")


def xplane(path: Path, count: int) -> None:
    """An XPlane of one GPU: kernels of eight streams."""
    names = b"".join(
        message((4, message((1, number), (2, message((1, number), (2, b"kernel %d" % number))))))
        for number in range(1, 51)
    )
    lines = []
    for stream in range(8):
        events = b"".join(
            message((4, message((1, 1 + number % 50), (2, number * 10_000_000), (3, 8_000_000))))
            for number in range(count // 8)
        )
        lines.append(
            message((3, message((1, stream + 1), (2, b"Stream #%d" % (stream + 1)), (3, 1000)) + events))
        )
    plane = message((1, 1), (2, b"/device:GPU:0")) + b"".join(lines) + names
    path.write_bytes(message((1, plane)))


MADE: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "Perfetto, slices": ("slices.pftrace", slices),
    "Perfetto, annotated": ("annotated.pftrace", annotated_slices),
    "rocprofv3 JSON": ("x_results.json", rocprofv3_json),
    "OTLP, one document": ("otlp.json", otlp_json),
    "OTLP, lines": ("otlp.jsonl", otlp_lines),
    "pprof": ("profile.pb.gz", pprof_profile),
    "perf script": ("perf.txt", perf_script),
    "ftrace text": ("trace.txt", ftrace_text),
    "speedscope": ("x.speedscope.json", speedscope),
    "V8 profile": ("x.cpuprofile", v8_profile),
    "Firefox Profiler": ("firefox.json", firefox),
    "collapsed stacks": ("stacks.txt", collapsed),
    "XPlane": ("x.xplane.pb", xplane),
}
"""Title, file name and maker of each."""
