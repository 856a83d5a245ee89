"""The compiled scanner stays in bounds: mutated traces under the compiler's sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.scanner_tools import build, run, unpacked
from tests.unit.interchange.import_tools import imported, rows, text_file
from tests.unit.interchange.trace_json.mutations import ASYNC, ROCM, SIMPLE, TORCH
from tests.unit.interchange.trace_json.scanned_tools import both_ways

from warpline.interchange.trace_json.scanner import Scanner, library
from warpline.storage import verify

_HTA = "torch/facebookresearch+HolisticTraceAnalysis/tests/data"
SEEDS = (
    TORCH,
    ASYNC,
    SIMPLE,
    ROCM,
    f"{_HTA}/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
)


@pytest.mark.fuzz
@pytest.mark.parametrize("flags", [(), ("-U__SSE2__",)], ids=["vectors", "plain"])
def test_mutated_texts_stay_in_bounds(tmp_path: Path, data_dir: Path, flags: tuple[str, ...]) -> None:
    run(build(tmp_path, *flags), unpacked(data_dir, SEEDS, tmp_path), 0, 60)


@pytest.mark.skipif(library() is None, reason="the scanner is not compiled here")
@pytest.mark.parametrize("length", [1, 2, 62, 63, 64, 65, 127, 128, 129])
def test_strings_across_blocks(length: int) -> None:
    """Backslashes, quotation marks and numbers across the border of 64-byte blocks."""
    lib = library()
    assert lib is not None
    for filling in (b"x", b"\\\\", b'\\"', b"\\\\x"):
        name = (filling * length)[: length - length % len(filling)]
        for shift in range(70):
            text = b" " * shift + b'{"name":"' + name + b'","ph":"X","ts":12345678,"dur":1}]'
            scan = Scanner(lib).scan(text)
            assert scan is not None, (filling, length, shift)
            assert scan.ended
            assert scan.tables[2] == [b'"' + name + b'"']
            assert scan.columns[8].tolist() == [12345678000]


HOSTILE = (
    "NaN", "-NaN", "Infinity", "-Infinity", "nan", "1e400", "-1e400", "1e30", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "2305843009213693", "2305843009213692.999", "-2305843009213692",
    "0.0005", "0.00049999", "-0", "-0.001", "1e3", "1E-3", "true", "null", '""', '"7"', '"7.25"', '"1e3"', '"nan"',
    "[1]", "{}", '{"a": [1, {"b": 2}]}', "9" * 400, "0." + "3" * 400, "[" * 70 + "]" * 70,
    '"\\ud800"', '"\\udc00\\ud800"',
    '"\\u0000"', '"\\""', '"' + "x" * 10_000 + '"', '"\\\\"',
    # No JSON:
    "00", "01", "1.", ".5", "+1", "0x10", "--1", "1.2.3", "-", "-a", '"\\"', '"', "[", "}", "", '"a" "b"', "1 2", "[1}",
)  # fmt: skip
MEMBERS = (
    "ph", "cat", "name", "ts", "dur", "pid", "tid", "id", "args", "correlation", "grid", "External id", "Input Dims",
    "Python id", "Call stack",
)  # fmt: skip


def with_value(member: str, value: str, category: str) -> str:
    """An event that has a value in one of its members or arguments."""
    args = {"device": "0", "context": "1", "stream": "7", "correlation": "3", "grid": "[1, 2, 3]"}
    event = {
        "ph": '"X"', "cat": f'"{category}"', "name": '"n"', "ts": "5", "dur": "2", "pid": "0", "tid": "7",
    }  # fmt: skip
    if member in event or member in ("id", "args"):
        event[member] = value
    else:
        args[member] = value
    event.setdefault("args", "{" + ",".join(f'"{key}": {text}' for key, text in args.items()) + "}")
    return "{" + ",".join(f'"{key}": {text}' for key, text in event.items()) + "}"


GOOD = '{"ph":"X","cat":"cpu_op","name":"op","ts":%d,"dur":9,"pid":4,"tid":4,"args":{"External id":1}}'


@pytest.mark.skipif(library() is None, reason="the scanner is not compiled here")
@pytest.mark.parametrize("member", MEMBERS)
def test_hostile_values_are_read_as_the_decoder_reads_them(member: str) -> None:
    """Every member with every kind of invalid value."""
    for category in ("kernel", "cpu_op", "python_function"):
        for value in HOSTILE:
            if (member, value) == ("dur", "2305843009213692.999"):
                continue  # the scanner keeps the digits that a float has not
            event = with_value(member, value, category)
            text = f"[{GOOD % 1}, {event}, {GOOD % 2}]".encode()
            scanned, decoded, _taken = both_ways(text, "torch")
            if scanned["losses"] or decoded["losses"]:
                # What is damaged may be cut out along other borders; its neighbours survive.
                for way in (scanned, decoded):
                    names = [(row[0], row[1]) for row in way["operator"] if row[0] == "op"]
                    assert names == [("op", 1000), ("op", 2000)], (category, value)
            else:
                assert scanned == decoded, (category, value)


def test_a_file_of_hostile_values_imports(tmp_path: Path) -> None:
    """Unusable numbers are counted, unstorable texts replaced."""
    texts = [with_value(member, value, "cpu_op") for member in MEMBERS for value in HOSTILE]
    events = ",\n".join([GOOD % 1, *texts, GOOD % 2])
    path = text_file(
        tmp_path, '{"deviceProperties": [' + ",".join(HOSTILE[:12]) + '], "traceEvents": [' + events + "]}"
    )
    with imported(tmp_path, path) as capture:
        names = [row[0] for row in rows(capture, "operator")]
        assert names.count("op") == 2
        assert {"events without a time", "damaged pieces of JSON"} <= {
            entry.what for entry in capture.skipped
        }
        assert not list(verify(capture))


@pytest.mark.parametrize("form", ["torch", "paddle", "chrome"])
def test_invalid_utf8_in_arguments_loses_no_other_event(tmp_path: Path, form: str) -> None:
    bad = (
        (GOOD % 5)
        .encode()
        .replace(b'"External id":1', b'"External id":1,"Input Dims":"\xff","callstack":"\xff"')
    )
    events = b",".join([(GOOD % 1).encode(), bad, (GOOD % 9).encode()])
    path = text_file(tmp_path, b'{"deviceProperties": [], "traceEvents": [' + events + b"]}")
    with imported(tmp_path, path, format=form) as capture:
        assert sorted(capture.events.start.tolist()) == [1000, 5000, 9000]
