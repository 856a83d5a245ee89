"""What recording costs servers and tools that others wrote, bare and recorded in turns.

    python tests/benchmarks/recording/bench_programs.py [--pairs 20] [--only redis git …] [--seconds 540] [--smoke]

A run is a fixed amount of work; redis, nginx, memcached and PostgreSQL have a client. The wall time is that of the work
alone; the processor time is that of the program and its client, from start to end. A pair is a run without and one with
recording, as it is by default. Printed are the medians of both ratios, recorded to bare, with their middle half, and
beside them the noise: the ratio of a bare run to the one before. Bar: a median of 1.05, beyond the noise. What is not
installed is named. On a busy machine the processor time says more.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.benchmarks.measuring import table  # noqa: E402  # found through the path above

BAR = 1.05
SMALLEST_PAIRS = 3
PORT = 21_700
_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups "
_MEMCACHED = """
use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:%d") or die; my $v = "x" x 100;
for my $i (1 .. 8000) {
  print $s "set k$i 0 0 100\\r\\n$v\\r\\n"; <$s>;
  print $s "get k$i\\r\\n"; while (<$s>) { last if /^END/ } }
"""
_NODE = """
const http = require('http'), agent = new http.Agent({keepAlive: true, maxSockets: 8});
const server = http.createServer((q, r) => r.end(JSON.stringify([...Array(200).keys()]))).listen(0, async () => {
  const one = () => new Promise(done => http.get({port: server.address().port, agent}, r =>
    { let n = 0; r.on('data', d => n += d.length); r.on('end', () => done(n)); }));
  for (let i = 0; i < 250; i++) await Promise.all(Array.from({length: 8}, one));
  process.exit(0); });
"""
_JAVA = """
import java.util.*; import java.util.concurrent.*;
public class Work { public static void main(String[] a) throws Exception {
  ExecutorService pool = Executors.newFixedThreadPool(4); Map<Integer, String> all = new ConcurrentHashMap<>();
  List<Future<?>> waits = new ArrayList<>();
  for (int t = 0; t < 900; t++) { final int n = t; waits.add(pool.submit(() -> { for (int i = 0; i < 2000; i++) {
    all.merge((n * 31 + i) % 5000, "v" + i, (x, y) -> x.length() > 40 ? y : x + y); synchronized (pool) { n(i); }
  } })); }
  for (Future<?> w : waits) w.get();
  pool.shutdown(); }
  static int sum; static void n(int i) { sum += i; } }
"""
_GIT = """rm -rf copy && git clone -q --bare r.git copy && cd copy
git repack -qadf --threads=2 && git fsck --full 2>&1 | wc -l
git log -p --all | md5sum"""
_GIT_SETUP = """git init -q r && cd r && for i in $(seq 150); do
for j in $(seq 12); do seq $((i * j)) > f$j; done; git add . && git -c user.name=n -c user.email=a@b commit -qm $i; done
cd .. && git clone -q --bare r r.git"""
_GCC_SETUP = """for i in $(seq 16); do cat > $i.c << END
#include <stdio.h>
#include <stdlib.h>
int f(int n) { int *p = malloc(n); for (int i = 0; i < n; i++) p[i] = i * $i; return p[n / 2]; }
END
done"""
_POSTGRES = """{at}initdb -U bench -A trust -N data; {at}pg_ctl -D data -w -o "-k {folder} -h '' -p {port}" start
{at}pgbench -h {folder} -p {port} -U bench -i -q postgres; {at}pg_ctl -D data -w stop"""
_SQL = """create table t(a, b); begin;
with recursive c(x) as (select 1 union all select x + 1 from c where x < 600000)
insert into t select x, x * 7919 % 10007 from c;
commit; create index i on t(b); select sum(a) from t where b < 5000; update t set a = a + 1 where b % 3 = 0;"""
_NGINX = """daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log /dev/null;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; keepalive_requests 100000;
server {{ listen 127.0.0.1:{port}; root {folder}; }} }}"""


class Program(NamedTuple):
    """Commands for the shell, in a folder of the program's own."""

    needs: tuple[str, ...]
    work: str
    server: str = ""
    is_ready: str = ""
    setup: str = ""
    files: dict[str, str] = {}  # noqa: RUF012  # never changed


def _programs(folder: Path) -> dict[str, Program]:
    postgres = f"{_postgres()}/"
    # It refuses to run as root; as another user it is recorded from outside.
    server = f"{_NOBODY if os.getuid() == 0 else ''}{postgres}"
    return {
        "redis": Program(
            ("redis-server", "redis-benchmark", "redis-cli"),
            f"redis-benchmark -p {PORT} -q -n 15000 -c 20 -t set,get,lpush",
            f"redis-server --port {PORT} --save '' --appendonly no --bind 127.0.0.1",
            f"redis-cli -p {PORT} ping",
        ),
        "nginx": Program(
            ("nginx", "curl"),
            f"curl -s -o /dev/null 'http://127.0.0.1:{PORT + 1}/page.html?[1-6000]'",
            f"nginx -p {folder}/nginx -c {folder}/nginx/conf",
            f"curl -s -o /dev/null http://127.0.0.1:{PORT + 1}/page.html",
            files={"conf": _NGINX.format(folder=folder / "nginx", port=PORT + 1), "page.html": "x" * 4000},
        ),
        "memcached": Program(
            ("memcached", "perl"),
            "perl client.pl",
            f"memcached -u nobody -l 127.0.0.1 -p {PORT + 2}",
            f"perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{PORT + 2}\")'",
            files={"client.pl": _MEMCACHED % (PORT + 2)},
        ),
        "postgres": Program(
            (f"{postgres}postgres", f"{postgres}pgbench"),
            f"{postgres}pgbench -h {folder}/postgres -p {PORT + 3} -U bench -n -S -c 2 -t 2500 postgres",
            f"{server}postgres -D data -k {folder}/postgres -h '' -p {PORT + 3}",
            f"{postgres}pg_isready -q -h {folder}/postgres -p {PORT + 3}",
            _POSTGRES.format(at=server, folder=folder / "postgres", port=PORT + 3),
        ),
        "node": Program(("node",), "node work.js", files={"work.js": _NODE}),
        "java": Program(("java", "javac"), "java -cp . Work", setup="javac Work.java", files={"Work.java": _JAVA}),
        "ffmpeg": Program(
            ("ffmpeg",),
            "ffmpeg -v error -nostdin -f lavfi -i testsrc=size=640x360:rate=30:duration=8 -c:v mpeg4 -f null -",
        ),
        "git": Program(
            ("git",),
            _GIT,
            setup=_GIT_SETUP,
        ),
        "gcc": Program(
            ("make", "gcc"),
            "make -s -B -j2",
            setup=_GCC_SETUP,
            files={"Makefile": "all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -O2 -c $<\n"},
        ),
        "sqlite3": Program(("sqlite3",), f'rm -f x.db; sqlite3 x.db "{_SQL}"'),
    }  # fmt: skip


def _postgres() -> str:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return str(found[-1].parent) if found else "/usr/bin"


class Cost(NamedTuple):
    """Of a run, s."""

    wall: float
    cpu: float


def measured(server: str, is_ready: str, work: str) -> Cost:
    """Does the work; called in a process of its own, which is recorded or not."""
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(["sh", "-c", f"exec {server}"], **quiet) if server else None
    try:
        until = time.monotonic() + 60
        while running and subprocess.run(["sh", "-c", is_ready], check=False, **quiet).returncode != 0:
            if running.poll() is not None or time.monotonic() > until:
                sys.exit(f"the server did not start: {server}")
            time.sleep(0.02)
        began = time.perf_counter()
        subprocess.run(["sh", "-ec", work], check=True, **quiet)
        wall = time.perf_counter() - began
    finally:
        if running:
            running.terminate()
            running.wait()
    times = os.times()
    return Cost(wall, times.children_user + times.children_system)


def run(program: Program, folder: Path, is_recorded: bool) -> Cost:
    """One run."""
    result, capture = folder / "result.json", folder / "run.h5"
    words = [
        sys.executable,
        __file__,
        "--measure",
        program.server,
        program.is_ready,
        program.work,
        str(result),
    ]
    recorder = [sys.executable, "-m", "warpline", "record", "--quiet", "-o", str(capture), "--"]
    done = subprocess.run(
        [*(recorder if is_recorded else []), *words],
        cwd=folder, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
    return Cost(*json.loads(result.read_text()))


def prepared(program: Program, folder: Path) -> None:
    """Makes the folder of a program, and what it works on."""
    folder.mkdir()
    for name, text in program.files.items():
        (folder / name).write_text(text)
    if os.getuid() == 0:
        shutil.chown(folder, 65534, 65534)  # for PostgreSQL
    subprocess.run(["sh", "-ec", program.setup or ":"], cwd=folder, check=True, capture_output=True)


def pairs_of(program: Program, folder: Path, pairs: int, until: float) -> list[tuple[Cost, Cost]]:
    """Bare and recorded; fewer pairs when time is over. Which comes first alternates."""
    run(program, folder, is_recorded=False)
    found: list[tuple[Cost, Cost]] = []
    while len(found) < pairs and (len(found) < min(pairs, SMALLEST_PAIRS) or time.monotonic() < until):
        order = (False, True) if len(found) % 2 else (True, False)
        costs = {is_recorded: run(program, folder, is_recorded) for is_recorded in order}
        found.append((costs[False], costs[True]))
    return found


def middle(ratios: Sequence[float]) -> str:
    """The median and the middle half."""
    ordered = sorted(ratios)
    quarter = len(ordered) // 4
    return f"{statistics.median(ordered):.3f} ({ordered[quarter]:.2f}–{ordered[-1 - quarter]:.2f})"


def row(name: str, pairs: list[tuple[Cost, Cost]]) -> tuple[object, ...]:
    """A line of the table."""
    bare = [one for one, _ in pairs]
    ratios = [(recorded.wall / one.wall, recorded.cpu / one.cpu) for one, recorded in pairs]
    noise = [(after.wall / before.wall, after.cpu / before.cpu) for before, after in itertools.pairwise(bare)]
    seconds = [f"{statistics.median(getattr(one, clock) for one in bare):.2f}" for clock in Cost._fields]
    columns = [middle([each[at] for each in of]) for at in (0, 1) for of in (ratios, noise)]
    return (name, len(pairs), *seconds, *columns)


def compare(names: Sequence[str], pairs: int, seconds: float) -> None:
    """Prints the table."""
    loads = [os.getloadavg()[0]]
    rows, absent = [], []
    with tempfile.TemporaryDirectory(prefix="warpline-bench-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        programs = _programs(folder)
        chosen = [name for name in programs if not names or name in names]
        began = time.monotonic()
        for at, name in enumerate(chosen):
            program = programs[name]
            missing = [need for need in program.needs if shutil.which(need) is None]
            if missing:
                absent.append(f"{name}: {', '.join(missing)} is not installed")
                continue
            try:
                prepared(program, folder / name)
                found = pairs_of(program, folder / name, pairs, began + seconds * (at + 1) / len(chosen))
                rows.append(row(name, found))
            except (RuntimeError, subprocess.CalledProcessError) as error:
                absent.append(f"{name}: {error}")
            loads.append(os.getloadavg()[0])
    head = ("program", "pairs", "bare s", "CPU s", "wall ×", "noise", "CPU ×", "noise")
    table(head, rows)
    print(f"load {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores; bar: {BAR} in the median")
    print("\n".join(absent))


def main() -> None:
    """The table, or a run in a process of its own."""
    if sys.argv[1:2] == ["--measure"]:
        cost = measured(*sys.argv[2:5])
        Path(sys.argv[5]).write_text(json.dumps(cost))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument(
        "--seconds", type=float, default=540, help="of all; fewer pairs where they do not fit"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="two pairs of each that only shows that it works"
    )
    options = parser.parse_args()
    compare(options.only, 2 if options.smoke else options.pairs, options.seconds)


if __name__ == "__main__":
    main()
