"""Kinds of work: how source lines and library frames show them, and what they must not be confused with."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from warpline.analysis.findings.work.calls import CallCount
from warpline.analysis.findings.work.handing_out import line_of_pool, line_that_hands_out
from warpline.analysis.findings.work.hot_lines import HotLine, callee_name, hot_line
from warpline.analysis.findings.work.kind import FILE_AGAIN, SMALL_CALLS, WorkKind
from warpline.analysis.findings.work.kinds import KINDS, kind_of
from warpline.analysis.findings.work.regex_repeats import nests_repeats
from warpline.analysis.findings.work.running_work import (
    _longest_line,
    _name_small_calls,
    source_files,
)
from warpline.analysis.findings.work.source_lines import SourceFile, SourceFiles

LIBRARY = "/usr/lib/python3.11"


def kind_at(source: str, number: int, *callees: str) -> str:
    """The kind of a line of a source text; empty for none."""
    kind = kind_of(callees, SourceFile(textwrap.dedent(source)).line(number))
    return kind.key if kind is not None else ""


@pytest.mark.parametrize(
    ("table", "query", "expected"),
    [
        (
            "create table t (id integer primary key, owner text)",
            "select * from t where owner = ?",
            "scanned_table",
        ),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, owner TEXT)", "SELECT * FROM t WHERE id = ?", "queries"),
        ("create table t (id integer, owner text unique)", "delete from t where owner in (?, ?)", "queries"),
        (
            "create table t (id, owner, primary key (owner, id))",
            "update t set id = 1 where owner = ?",
            "queries",
        ),
        (
            "create table t (id, owner); create index i on t (owner)",
            "select 1 from t where owner = ?",
            "queries",
        ),
        (
            "create table t (id, owner); create index i on t (id)",
            "select 1 from t where owner = ?",
            "scanned_table",
        ),
        ("create table t (id, owner)", "select 1 from t where rowid = ?", "queries"),
        ("create table t (id, owner)", "select count(*) from t", "queries"),
        ("create table other (id, owner)", "select 1 from t where owner = ?", "queries"),
    ],
)
def test_a_query_reads_a_whole_table_where_the_program_makes_no_index(
    table: str, query: str, expected: str
) -> None:
    loop = f"for row in rows:\n    db.execute({query!r}, row)\n"
    assert kind_at(f"db.executescript({table!r})\n{loop}", 3) == expected
    named = f"SQL = {query!r}\ndb.executescript({table!r})\nfor row in rows:\n    db.execute(SQL, row)\n"
    assert kind_at(named, 4) == expected


@pytest.mark.parametrize(
    ("source", "number", "expected"),
    [
        ("seen = []\nfor item in items:\n    if item not in seen:\n        seen.append(item)\n", 3, "list_scanned"),
        ("seen = set()\nfor item in items:\n    if item not in seen:\n        seen.add(item)\n", 3, "membership"),
        ("def f(names: list[str], x):\n    return names.index(x)\n", 2, "list_scanned"),
        ("def f(text, x):\n    return text.index(x)\n", 2, ""),
        ("if x in ('a', 'b'):\n    pass\n", 1, ""),
        ("class A:\n    def __init__(self):\n        self.l = []\n    def f(self, x):\n        return x in self.l\n", 5,
         "list_scanned"),
        ("while jobs:\n    job = jobs.pop(0)\n", 2, "list_shifted"),
        ("while jobs:\n    job = jobs.pop()\n", 2, ""),
        ("value = table.pop(0, None)\n", 1, ""),
        ("while data:\n    data = data[4:]\n", 2, "list_shifted"),
        ("text = ''\nfor row in rows:\n    text += row\n", 3, "text_grown"),
        ("total = 0\nfor row in rows:\n    total += row\n", 3, ""),
        ("for row in rows:\n    self.text = self.text + f'{row};'\n", 2, "text_grown"),
        ("for row in rows:\n    array = np.append(array, row)\n", 2, "copied_to_grow"),
        ("for row in rows:\n    items = items + [row]\n", 2, "copied_to_grow"),
        ("for row in rows:\n    best = min(values)\n", 2, "sorted_again"),
        ("for row in rows:\n    values = load(row)\n    best = sorted(values)\n", 3, ""),
        ("for row in rows:\n    best = sorted(points.items(), key=cost)[:3]\n", 2, "sorted_again"),
        ("for row in rows:\n    best = max(list(names))\n", 2, "sorted_again"),
        ("def add(x):\n    table.append(x)\n    table.sort()\n", 3, "sorted_again"),
        ("def add(x):\n    table = [x]\n    table.append(x)\n    table.sort()\n", 4, ""),
        ("def best(table):\n    return sorted(table)\n", 2, ""),
        ("for row in rows:\n    send(json.dumps(settings))\n", 2, "serialized_again"),
        ("for row in rows:\n    send(json.dumps(row))\n", 2, "serialized"),
        ("copy = json.loads(json.dumps(x))\n", 1, "copied_by_serializing"),
        ("while not ready:\n    pass\n", 1, "busy_waiting"),
        ("while not event.wait(1):\n    pass\n", 1, ""),
        ("while time.perf_counter() < deadline:\n    pass\n", 1, "busy_clock"),
        ("while True:\n    if time.monotonic() > end:\n        break\n", 2, "busy_clock"),
        ("while time.monotonic() < end:\n    work()\n", 1, ""),
        ("while True:\n    if done():\n        break\n", 2, "busy_waiting"),
        ("while queue:\n    work(queue.pop())\n", 1, ""),
        ("for i in range(3):\n    gc.collect()\n", 2, "garbage_collected"),
        ("for row in rows:\n    print(row)\n", 2, "printed"),
        ("for row in rows:\n    print(row, flush=True)\n", 2, "flushed"),
        ("print(total)\n", 1, ""),
        ("for row in rows:\n    x = json.load(file)\n", 2, "serialized"),
        ("for row in rows:\n    x = row.astype('float32')\n", 2, "converted"),
        ("x = row.astype('float32')\n", 1, ""),
        ("def find(wanted):\n    return next(x for x in items if x.key == wanted)\n", 2, "searched_linearly"),
        ("for row in rows:\n    own = [x for x in items if x.key == row.key]\n", 2, "searched_linearly"),
        ("for row in rows:\n    items = load(row)\n    own = [x for x in items if x.key == row.key]\n", 3, ""),
        ("for x in items:\n    if x.key == wanted:\n        return x\n", 2, "searched_linearly"),
        ("def own(rows, key):\n    return [x for x in rows if x.key == key]\n", 2, "searched_linearly"),
        ("def paid(rows):\n    return [x for x in rows if x.state == PAID]\n", 2, ""),
        ("for x in items:\n    if x == 0:\n        break\n", 2, ""),
        ("m = np.zeros(9)\nfor i in range(9):\n    m[i] += x[i] * 2\n", 3, "elements"),
        ("m = np.zeros(9)\nfor i in range(9):\n    m[i] = np.dot(x[i], y)\n", 3, ""),
        ("for a in items:\n    for b in items:\n        n += near(a, b)\n", 3, "pairs"),
        ("for i in range(len(v)):\n    for j in range(i + 1, len(v)):\n        n += near(v[i], v[j])\n", 3, "pairs"),
        ("for a in items:\n    for b in a:\n        n += use(b)\n", 3, ""),
        ("for i in range(n):\n    for j in range(n):\n        c[i][j] += a[i][j]\n", 3, "python_loops"),
        ("while at < len(data):\n    at += parse(data[at:])\n", 2, "rest_copied"),
        ("while at < len(data):\n    at += parse(data[at:at + 8])\n", 2, ""),
        ("for row in rows:\n    states.append(state.copy())\n", 2, "copied_in_loop"),
        ("flat = sum(rows, [])\n", 1, "copied_to_grow"),
        ("row = db.execute(text, (number,)).fetchone()\n", 1, "queries"),
        ("db.executemany('INSERT INTO t VALUES (?, ?)', batch)\n", 1, "inserts"),
        ("db.executemany('UPDATE t SET a = ? WHERE b = ?', batch)\n", 1, "queries"),
        ("name = hashlib.sha256(data).hexdigest()\n", 1, "hashed"),
        ("def fib(n):\n    return fib(n - 1) + fib(n - 2)\n", 2, "recursion"),
        ("@functools.cache\ndef fib(n):\n    return fib(n - 1) + fib(n - 2)\n", 3, ""),
        ("P = re.compile(r'(a+)+$')\nP.match(text)\n", 2, "backtracking"),
        ("P = re.compile(r'(a|b)+$')\nP.match(text)\n", 2, ""),
    ],
)  # fmt: skip
def test_a_line_shows_its_kind_of_work(source: str, number: int, expected: str) -> None:
    assert kind_at(source, number) == expected


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (f"{LIBRARY}/re/_compiler.py:compile", "regex_compiled"),
        (f"{LIBRARY}/re/__init__.py:match", ""),
        (f"{LIBRARY}/copy.py:deepcopy", "deepcopy"),
        (f"{LIBRARY}/logging/__init__.py:Logger.debug", "logging"),
        (f"{LIBRARY}/_strptime.py:_strptime", "dates_parsed"),
        (f"{LIBRARY}/queue.py:Queue.get_nowait", "busy_waiting"),
        (f"{LIBRARY}/gzip.py:GzipFile.seek", "decompressed_again"),
        (f"{LIBRARY}/compression/_common/_streams.py:DecompressReader.seek", "decompressed_again"),
        (f"{LIBRARY}/gzip.py:GzipFile.read", ""),
        (f"{LIBRARY}/json/decoder.py:JSONDecoder.decode", "serialized"),
        (f"{LIBRARY}/site-packages/numpy/lib/_function_base_impl.py:append", "copied_to_grow"),
        (f"{LIBRARY}/site-packages/pandas/core/frame.py:DataFrame.iterrows", "rows_iterated"),
        (f"{LIBRARY}/_compression.py:DecompressReader.read", ""),
        (f"{LIBRARY}/threading.py:Thread.run", ""),
    ],
)
def test_library_frames_show_the_kind_of_work(frame: str, expected: str) -> None:
    assert kind_at("work()\n", 1, frame) == expected


@pytest.mark.parametrize(
    ("source", "number", "expected"),
    [
        ("for row in rows:\n    tried = rows[:]; tried[rng.randrange(9)] = 0\n", 2, "copied_in_loop"),
        ("while jobs:\n    use(rng.randrange(9), jobs.pop(0))\n", 2, "list_shifted"),
    ],
)
def test_time_in_a_library_function_is_not_that_of_native_work_beside_it(
    source: str, number: int, expected: str
) -> None:
    assert kind_at(source, number) == expected
    assert kind_at(source, number, f"{LIBRARY}/random.py:Random.randrange") == ""


def test_every_kind_is_known_by_its_key_and_says_what_helps_and_refutes() -> None:
    assert len({kind.key for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert kind.frames is not None or kind.line is not None
        assert kind.remedy.endswith(".")
        assert kind.refutation.startswith("Refuted if ")


def test_the_own_line_of_a_stack_names_the_library_function_it_calls() -> None:
    frames = [
        f"compile ({LIBRARY}/re/_compiler.py:745)",
        f"_compile ({LIBRARY}/re/__init__.py:294)",
        f"compile ({LIBRARY}/re/__init__.py:227)",
        "Parser.parse (/src/parse.py:12)",
        "<module> (/src/parse.py:40)",
    ]
    hot = hot_line(frames, SourceFiles(None))
    assert hot is not None
    assert hot.place == ("/src/parse.py", 12, "parse")
    assert hot.callee == "re.compile"
    assert hot.kind is not None
    assert hot.kind.key == "regex_compiled"


def test_a_lambda_handed_over_on_a_line_belongs_to_that_line() -> None:
    key, sort = "play.<locals>.<lambda> (/src/app.py:14)", "play (/src/app.py:14)"
    hot = hot_line([key, sort, "<module> (/src/app.py:20)"], SourceFiles(None))
    assert hot is not None
    assert (hot.number, hot.function, hot.callee) == (14, "play", "")
    elsewhere = hot_line([key, "run (/src/app.py:3)"], SourceFiles(None))
    assert elsewhere is not None
    assert elsewhere.function == "<lambda>"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{LIBRARY}/copy.py", "copy.f"),
        (f"{LIBRARY}/site-packages/numpy/lib/npyio.py", "numpy.f"),
        (f"{LIBRARY}/_strptime.py", "strptime.f"),
        ("<frozen posixpath>", "posixpath.f"),
    ],
)
def test_a_library_function_is_named_by_its_module(file: str, expected: str) -> None:
    assert callee_name(file, "f") == expected


def test_a_changed_or_unreadable_source_file_is_not_judged(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("def f(x):\n    return x in [y]\n")
    os.utime(file, ns=(10**18, 10**18))
    assert SourceFiles(10**18).line(str(file), 2, "f") is not None
    assert SourceFiles(10**18 - 1).line(str(file), 2, "f") is None
    assert SourceFiles(None).line(str(file), 2, "f") is None
    # A line that lies in another function shows that the file is a different one.
    assert SourceFiles(10**18).line(str(file), 2, "g") is None
    assert SourceFiles(10**18).line(str(file), 9, "f") is None
    assert SourceFiles(10**18).line(str(tmp_path / "gone.py"), 1) is None
    (tmp_path / "broken.py").write_text("def (")
    assert SourceFiles(2**62).line(str(tmp_path / "broken.py"), 1) is None


def test_a_comprehension_is_judged_by_what_it_does_itself(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("for row in rows:\n    print([x.astype('int8') for x in row], fib(gc.collect()))\n")
    whole, inner = (SourceFiles(2**62).line(str(file), 2, name) for name in ("<module>", "<listcomp>"))
    assert whole is not None
    assert {name for name, _ in whole.calls} >= {"print", "gc.collect"}
    assert inner is not None
    assert [name for name, _ in inner.calls] == ["x.astype"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a+)+", True),
        ("(?:[a-z]*x?)*", True),
        ("(a+)", False),
        ("a+b+", False),
        (r"\(a+\)+", False),
        (r"(\w+\s?)*$", True),
        ("(a*|b)+", True),
        ("(x+x+)+y", True),
        ("(.*,)*", True),
        ("(a+){2,}", True),
        (r"\{(\w+)((?:\s*\|\s*\w+)*)\}", False),
        (r"(?:(?:\d+)\.)+", False),
        ("([^,]*,)*", False),
        ("(a|b)+", False),
        ("(a++)+", False),
        ("(a{1,5})+", False),
        ("[", False),
    ],
)
def test_nested_unlimited_repeats_are_recognized(pattern: str, expected: bool) -> None:
    assert nests_repeats(pattern) is expected


def test_a_file_that_nests_deeper_than_python_recurses_is_searched(tmp_path: Path) -> None:
    choices = "".join(f"    elif x == {n}:\n        pass\n" for n in range(1200))
    path = tmp_path / "long.py"
    path.write_text(
        f"def serve(x):\n    if not x:\n        pass\n{choices}"
        f"    else:\n        pool = Pool(4)\n        pool.map(work, {'x + ' * 600}x)\n"
    )
    files = SourceFiles(path.stat().st_mtime_ns)
    case: Any = SimpleNamespace(once=lambda _make: files)
    made, handed = line_of_pool(case, [str(path)]), line_that_hands_out(case, "work", str(path))
    assert made is not None
    assert handed is not None
    assert (made.line, handed.line, handed.function) == (2405, 2406, "serve")
    line = files.line(str(path), 2406)
    assert line is not None
    assert len(line.nodes) > 1200


def test_source_of_another_machine_is_not_taken_from_here(tmp_path: Path) -> None:
    file = tmp_path / "run.py"
    file.write_text("def f():\n    return 1\n")
    meta: dict[str, object] = {"start_utc_ns": 1 << 62}
    case = cast("Any", SimpleNamespace(view=SimpleNamespace(capture=SimpleNamespace(meta=meta))))
    assert source_files(case).line(str(file), 2, "f") is not None
    meta["host"] = {"name": "the-box", "reached_as": "box"}
    assert source_files(case).line(str(file), 2, "f") is None


@pytest.mark.parametrize(
    ("kind", "count", "opened", "time_ms", "is_named"),
    [
        (None, 20_000, 0, 40, True),
        (None, 2_000, 0, 4_000, False),
        (FILE_AGAIN, 20_000, 12, 40, True),
        (FILE_AGAIN, 20_000, 6_000, 40, False),
    ],
    ids=["many calls", "too long for its calls", "byte by byte", "opened for each call"],
)
def test_lines_with_many_small_calls(
    kind: WorkKind | None, count: int, opened: int, time_ms: int, is_named: bool
) -> None:
    hots = {0: HotLine("/src/a.py", 3, "read", "", kind, None)}
    counted: dict[tuple[str, int | None, str], CallCount] = {
        ("/src/a.py", 3, "read"): CallCount("read", count, count)
    }
    _name_small_calls(hots, counted, {"/src/a.py:read": ("/data/x", opened)}, np.array([time_ms * 1e6]))
    assert (hots[0].kind is SMALL_CALLS) is is_named


@pytest.mark.parametrize(("inside", "callee"), [(1.0, ""), (60.0, "posixpath.join")])
def test_a_callee_is_named_where_much_of_the_time_is_spent_in_it(inside: float, callee: str) -> None:
    alone = HotLine("/src/a.py", 7, "newest", "", None, None)
    calling = HotLine("/src/a.py", 7, "newest", "posixpath.join", None, None)
    longest = _longest_line([(alone, 100.0 - inside), (calling, inside)])
    assert (longest.place, longest.callee) == (alone.place, callee)
