"""Real programs, each as a command in a folder that `prepare` made: what they print and leave is theirs alone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.fidelity.runtimes import FILES, NEEDED, OURS, RUNTIMES, needs_compiled

PYTHON = sys.executable
_POOL = """
import multiprocessing, sys
def square(x): return x * x
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(3) as pool: print(sum(pool.map(square, range(500))))
    sys.exit(4)
"""
_ASYNCIO = """
import asyncio
async def work(i):
    await asyncio.sleep(0.01 * (i % 5)); return i
async def main():
    print(sum(await asyncio.gather(*(work(i) for i in range(200)))))
    child = await asyncio.create_subprocess_exec("echo", "sub", stdout=-1); print((await child.communicate())[0])
asyncio.run(main())
"""
_THREADS = """
import threading, queue
items = queue.Queue(); done = []
def work():
    while (x := items.get()) is not None: done.append(x * 2)
threads = [threading.Thread(target=work) for _ in range(32)]
[t.start() for t in threads]; [items.put(i) for i in range(5000)]; [items.put(None) for _ in threads]
[t.join() for t in threads]; print(sum(done), len(done))
"""
_MAIN_LEAVES = """
import ctypes, os, threading, time
def work(): time.sleep(0.2); os.write(1, b"others\\n")
if {others}: [threading.Thread(target=work).start() for _ in range(3)]
ctypes.CDLL(None).pthread_exit(None)
"""
_MAIN_LEAVES_STRICT = """
import ctypes, os, time
library, end = ctypes.CDLL(None), 93 if os.uname().machine == "aarch64" else 60
time.sleep(0.05); library.prctl(22, 1, 0, 0, 0); library.syscall(end, 7)
"""
_SOCKETS = """
import socket
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); c = socket.create_connection(s.getsockname())
d, _ = s.accept(); c.sendall(b"y" * 100000); c.close(); print(sum(len(x) for x in iter(lambda: d.recv(4096), b"")))
"""
_CLOSED = """
import os, subprocess
os.closerange(3, 4096)
print(sorted(int(n) for n in os.listdir("/proc/self/fd") if int(n) > 2)[:1] != [])
subprocess.run(["/bin/echo", "still", "here"], env={}, close_fds=True)
"""
_PTY = """
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 1024))))
"""
_NODE = """
const children = require('child_process'), {Worker} = require('worker_threads');
let sum = 0; for (let i = 0; i < 1e6; i++) sum += i; console.log(sum); console.error('err');
children.execSync('echo child', {stdio: 'inherit'});
new Worker('require("worker_threads").parentPort.postMessage(1)', {eval: true})
    .on('message', m => { console.log('worker', m); process.exit(6); });
"""
_JAVA = """public class H { public static void main(String[] a) throws Exception {
    Thread t = new Thread(() -> System.out.println("t")); t.start(); t.join(); System.exit(3); } }"""
_SQL = """create table t(a,b);
with recursive c(x) as (select 1 union all select x+1 from c where x<20000) insert into t select x, x*x from c;
select sum(b) from t; create index i on t(b); select count(*) from t where b>100;"""
_GIT = """git init -q a && cd a && git config user.email a@b && git config user.name n
for i in $(seq 30); do echo $i > f$i; done; git add .
GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git commit -qm x
cd .. && git clone -q a b && git -C b log --oneline; rm -rf a/.git b/.git"""
_BASH = """for i in 1 2 3; do echo $i; (exit $i) || echo no $?; done
trap "echo bye" EXIT; cat <(echo sub) | tr a-z A-Z; exit 42"""
_TAR = """mkdir d; for i in $(seq 200); do head -c 2000 /dev/zero | tr '\\0' $((i%10)) > d/$i; done
tar --mtime=2020-01-01 --sort=name -czf d.tgz d; tar tzf d.tgz | wc -l; rm -rf d d.tgz"""


def _shell(text: str) -> list[str]:
    return ["bash", "-c", text]


PROGRAMS: dict[str, list[str]] = {
    "bash": _shell(_BASH),
    "bash jobs": _shell("set -m; sleep 0.2 & sleep 0.1 & wait; jobs; kill -TERM $$; echo not here"),
    "make": ["make", "-j4", "-s"],
    "git": _shell(_GIT),
    "gcc": _shell("gcc -O2 -o x x.c && ./x; echo rc $?; rm -f x"),
    "static program": _shell("gcc -static -O2 -o y x.c && ./y; echo rc $?; rm -f y"),
    "pool fork": [PYTHON, "pool.py", "fork"],
    "pool spawn": [PYTHON, "pool.py", "spawn"],
    "pool forkserver": [PYTHON, "pool.py", "forkserver"],
    "asyncio": [PYTHON, "-c", _ASYNCIO],
    "threads": [PYTHON, "-c", _THREADS],
    "main thread leaves": [PYTHON, "-c", _MAIN_LEAVES.format(others=False)],
    "main thread leaves before others": [PYTHON, "-c", _MAIN_LEAVES.format(others=True)],
    "main thread leaves in strict mode": [PYTHON, "-c", _MAIN_LEAVES_STRICT],
    "numpy": [
        PYTHON,
        "-c",
        "import numpy as np; print(np.linalg.svd(np.random.default_rng(1).random((200,200)))[1][:3])",
    ],
    "isolated Python": [
        PYTHON,
        "-I",
        "-S",
        "-E",
        "-c",
        "import sys; print(sorted(sys.flags), len(sys.path))",
    ],
    "closed descriptors": [PYTHON, "-c", _CLOSED],
    "sockets": [PYTHON, "-c", _SOCKETS],
    "file lock": [
        PYTHON,
        "-c",
        "import fcntl; f=open('l','w'); fcntl.flock(f, fcntl.LOCK_EX); print('locked')",
    ],
    "abort": [PYTHON, "-c", "import os; os.abort()"],
    "sqlite3": ["sqlite3", ":memory:", _SQL],
    "tar": _shell(_TAR),
    "find": _shell("find /usr/include -name '*.h' | sort | md5sum; find /nonexistent; exit 5"),
    "perl": [
        "perl",
        "-e",
        "$|=1; print 'a'; my $p = fork; if (!$p) { print 'b'; exit 2 } waitpid $p, 0; print $? >> 8; exit 7",
    ],
    "ssh-keygen": _shell(
        "ssh-keygen -q -t ed25519 -N '' -f k && ssh-keygen -l -f k.pub | wc -l; rm -f k k.pub"
    ),
    "node": ["node", "-e", _NODE],
    "java": ["java", "-Xmx64m", "H.java"],
    "vim": ["vim", "-es", "-u", "NONE", "-c", "put ='hello'|wq! out.txt"],
    "tmux": _shell(
        "tmux -L warpline -f /dev/null new-session -d 'echo inside > tmux.txt; exit 3'; sleep 1; cat tmux.txt"
    ),
    "gdb": _shell("gdb -batch -ex run -ex 'print 6*7' /bin/true 2>&1 | grep -v '^warning' | tail -1"),
    "strace": _shell("strace -f -c -o /dev/null ls / | md5sum"),
    "valgrind": _shell("valgrind -q --error-exitcode=9 /bin/echo checked; echo $?"),
    "less in a terminal": [PYTHON, "pty.py", "bash", "-c", "less -FX x.c; stty size; test -t 0 && echo tty"],
    "su": ["su", "nobody", "-s", "/bin/sh", "-c", "id; exit 9"],
    "sudo": ["sudo", "-n", "-u", "nobody", "sh", "-c", "id -u; exit 9"],
    "setpriv": ["setpriv", "--reuid", "65534", "--clear-groups", "id", "-u"],
    "setsid": _shell("setsid -w bash -c 'sleep 0.2; echo in session; exit 3'; echo $?"),
    "nohup": _shell("nohup bash -c 'sleep 0.1; echo x' 2>/dev/null; echo $?"),
    "daemon": _shell(
        "(setsid bash -c 'sleep 0.3; echo late > late.txt' >/dev/null 2>&1 &); sleep 2; cat late.txt"
    ),
    "perf": _shell(
        "perf stat -x, -e context-switches,task-clock sleep 0.1 2>&1 | cut -d, -f3 | head -3; echo $?"
    ),
    "timeout": ["timeout", "0.3", "sleep", "5"],
    "yes and head": _shell("yes | head -5; echo ${PIPESTATUS[@]}"),
    "xargs": _shell("seq 50 | xargs -P 8 -n 1 sh -c 'echo $0' | sort -n | md5sum"),
    "own signal": _shell("kill -SEGV $$"),
    "standard input": _shell("cat | wc -c; read x; echo rc $?"),
    "much output": _shell("head -c 20000000 /dev/zero | md5sum; head -c 3000000 /dev/zero"),
    "status 255": ["sh", "-c", "exit 255"],
    "no such program": ["/nonexistent/program"],
    "not executable": ["./x.c"],
    "no interpreter named": ["./no_interpreter"],
    "interpreter missing": ["./bad_interpreter"],
    "a folder": ["."],
    "locale": _shell("LC_ALL=C sort <<< $'b\\na\\nB'; locale 2>/dev/null | sort | head -20; date -u -d @0"),
    "environment": _shell(f"env | grep -vE '{OURS}' | sort"),
    "empty environment": ["env", "-i", PYTHON, "-c", "import os; print(len(os.environ) < 3)"],
    "umask": _shell("umask; umask 027; touch f; stat -c %a f"),
    "folder": _shell("cd /; pwd; ls -d /proc/self/cwd"),
    "order of children": _shell("for i in 9 1 5; do (sleep 0.$i; echo $i) & done; wait"),
    "output of an orphan": _shell("(sleep 0.4; echo orphan) & exit 0"),
    **RUNTIMES,
}
"""By name. What the first word, or the shell line, needs and is not installed makes the test skip."""

NEEDS = {"git", "gcc", "tar", "ssh-keygen", "tmux", "gdb", "strace", "valgrind", "perf", "xargs", "find"}
"""Programs of the same name that a shell line calls."""


def is_here(name: str) -> bool:
    """Whether what a program needs is installed."""
    named = {"static program": "gcc"}.get(name, name if name in NEEDS else PROGRAMS[name][0])
    wanted = NEEDED.get(name, (named,))
    return all(word.startswith((".", "/")) or shutil.which(word) is not None for word in wanted)


def prepare(folder: Path, command: list[str]) -> None:
    """Make an empty folder with the files that programs start from."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in needs_compiled(command):
        shutil.copy(path, folder)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "x.c").write_text(
        '#include <stdio.h>\nint main(void){for(int i=0;i<3;i++)printf("%d\\n",i);return 3;}\n'
    )
    targets = " ".join(f"o{i}" for i in range(12))
    (folder / "Makefile").write_text(f"all: {targets}\no%:\n\t@sleep 0.05; echo $@ > $@\n")
    (folder / "pool.py").write_text(_POOL)
    (folder / "pty.py").write_text(_PTY)
    (folder / "H.java").write_text(_JAVA)
    for name, text in (
        ("no_interpreter", "echo from $0 $#\nexit 8\n"),
        ("bad_interpreter", "#!/nonexistent/sh\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    folder.chmod(0o777)
