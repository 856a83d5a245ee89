"""Runtimes, debuggers, sandboxes, and what a process is given: more programs, in the words of `programs`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.fidelity.languages import LANGUAGES, LANGUAGES_NEED
from tests.fidelity.sandboxed import RAW_GO, SANDBOXED, SANDBOXED_NEED, SCRIPTS

OURS = "WARPLINE|INJECTION64|LD_PRELOAD|INTEL_LIBITTNOTIFY64|INTEL_JIT|PYTHONPATH|^_="
"""What is told apart in an environment: variables that a recording adds."""
_GO = """package main
import ("fmt"; "os"; "os/exec"; "sync"; "time")
func main() {
	var group sync.WaitGroup
	results := make(chan int, 64)
	for i := 0; i < 64; i++ {
		group.Add(1)
		go func(i int) { defer group.Done(); time.Sleep(time.Duration(i%5) * time.Millisecond); results <- i * i }(i)
	}
	group.Wait(); close(results)
	sum := 0
	for r := range results { sum += r }
	out, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
	entries, _ := os.ReadDir("/proc/self/fd")
	fmt.Printf("%d %q %v %d\\n", sum, out, err, len(entries))
	os.WriteFile("go.txt", []byte("written\\n"), 0o640)
	os.Exit(5)
}
"""
_RUST = """use std::{fs, process, thread};
fn main() {
    std::panic::set_hook(Box::new(|_| {})); // it would name a thread by its number
    let work = |i: u64| thread::spawn(move || (0..=i * 1000).sum::<u64>());
    let workers: Vec<_> = (0..16).map(work).collect();
    let sum: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    let child = process::Command::new("sh").args(["-c", "echo child; exit 3"]).output().unwrap();
    let open = fs::read_dir("/proc/self/fd").unwrap().count();
    println!("{} {:?} {:?} {}", sum, child.stdout, child.status.code(), open);
    fs::write("rust.txt", "written\\n").unwrap();
    println!("{}", thread::spawn(|| if fs::metadata("rust.txt").is_ok() { panic!("on purpose") }).join().is_err());
    process::exit(6);
}
"""
_THREADS = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *given) { long *n = malloc(sizeof *n); *n = (long)given * 2; return n; }
int total;
int main(void) {
    pthread_t all[8];
    for (long i = 0; i < 8; i++) pthread_create(&all[i], 0, work, (void *)i);
    for (int i = 0; i < 8; i++) { long *n; pthread_join(all[i], (void **)&n); total += *n; free(n); }
    printf("%d\\n", total);
    return 3;
}
"""
_JAVA = """import java.util.*; import java.util.concurrent.*;
public class J { public static void main(String[] a) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4); List<Future<Integer>> all = new ArrayList<>();
    for (int i = 0; i < 50; i++) { final int n = i; all.add(pool.submit(() -> n * n)); }
    int sum = 0; for (Future<Integer> f : all) sum += f.get(); pool.shutdown();
    Process child = new ProcessBuilder("sh", "-c", "echo child; exit 3").inheritIO().start();
    int status = child.waitFor();
    System.out.println(sum + " " + status + " " + new java.io.File("/proc/self/fd").list().length);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
    throw new IllegalStateException("on purpose"); } }
"""
_NODE = """const fs = require('fs'), {execFile} = require('child_process');
console.log(fs.readdirSync('/proc/self/fd').length, process.execArgv, Object.keys(process.versions).length);
execFile('sh', ['-c', 'echo child; exit 3'], (error, out) => { console.log(out, error.code); process.exitCode = 7; });
fs.promises.writeFile('node.txt', 'written').then(() => console.log(fs.readFileSync('node.txt', 'utf8')));
"""
_DESCRIPTORS = """
import fcntl, os
# The folder that is listed has a descriptor of its own.
for number in sorted(map(int, os.listdir("/proc/self/fd"))):
    try:
        kind = os.readlink(f"/proc/self/fd/{number}").split(":")[0].rpartition("/")[2]
        print(number, kind, oct(fcntl.fcntl(number, fcntl.F_GETFL)), fcntl.fcntl(number, fcntl.F_GETFD))
    except OSError:
        print(number, "gone")
"""
_DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.umask(0); null = os.open(os.devnull, os.O_RDWR)
for number in 0, 1, 2: os.dup2(null, number)
os.closerange(3, 1024)
open("daemon.txt", "w").write(f"{os.getsid(0) != os.getpid()} {len(os.listdir('/proc/self/fd'))}")
os.rename("daemon.txt", "daemon.done")
"""
_GDB = (
    "gdb -nx -batch -ex 'break work' -ex run -ex 'print (long)given >= 0' -ex delete -ex continue "
    "-ex 'print $_exitcode' ./threads 2>/dev/null | grep -E '^.[0-9]+ = '"
)
_ATTACH = (
    "sleep 30 & sleep 0.3; gdb -nx -batch -p $! -ex 'print $_siginfo' -ex 'info inferiors' 2>/dev/null "
    "| grep -c process; kill $!; wait $!; echo $?"
)
_TMUX = """t='tmux -L warpline_panes -f /dev/null'; $t new-session -d -x 80 -y 24 cat; $t send-keys typed Enter
$t split-window -d 'echo $TERM > pane.txt; sleep 5'; for i in $(seq 100); do test -s pane.txt && break; sleep 0.05; done
$t list-panes | wc -l; $t kill-server; cat pane.txt"""
_DAEMON_ENDS = """'{python}' daemon.py; for i in $(seq 100); do test -e daemon.done && break; sleep 0.05; done
cat daemon.done"""
_ROOT = (
    "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 "
    "--proc /proc --dev /dev --unshare-all"
)
# In a namespace of mounts that goes with it; what is bound there is read-only, and the folder is empty afterwards.
_CHANGED_ROOT = """mkdir root; unshare -Urm sh -c 'cd root; for at in usr lib lib64 bin; do mkdir $at
mount --rbind "$(readlink -f /$at)" $at; done; chroot . /bin/sh -c "ls / /nowhere; id -u; sh -c id; exit 4"'; echo $?
rm -r root"""
_SUDO = """A=1 sudo -n -E sh -c 'id -u; echo $A; env | grep -vE "{ours}|SUDO" | sort'; sudo -n -k; exit 2"""
_SESSIONS = """ps -o pgid=,sid=,tpgid= -p $$ | awk '{print ($1==$2), $3}'
cat /proc/self/cgroup /proc/self/timerslack_ns"""
_CHROMIUM = (
    "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$PWD/profile {what} "
    "'data:text/html,<h1 id=x>hi</h1><script>x.textContent=6*7</script>' 2>/dev/null; echo $?; rm -rf profile"
)
_GIVEN = "SigQ|SigPnd|SigBlk|SigIgn|SigCgt|Umask|Cap|NoNewPrivs|Seccomp|Cpus_allowed|Speculation|TracerPid|Groups|Uid"


def _shell(text: str) -> list[str]:
    return ["bash", "-c", text]


RUNTIMES: dict[str, list[str]] = {
    "go": ["./go_program"],
    "rust": ["./rust_program"],
    "rust, static": ["./rust_static"],
    "java pool": ["java", "-Xmx64m", "J.java"],
    "node children": ["node", "node.js"],
    "chromium": _shell(_CHROMIUM.format(what="--dump-dom")),
    "chromium picture": _shell(
        _CHROMIUM.format(what="--screenshot=$PWD/s.png --window-size=200,150") + "; test -s s.png; echo $?; rm -f s.png"
    ),
    "valgrind threads": _shell("valgrind -q --leak-check=full --error-exitcode=9 ./threads; echo $?"),
    "helgrind": _shell("valgrind -q --tool=helgrind --error-exitcode=9 ./threads; echo $?"),
    "gdb threads": _shell(_GDB),
    "gdb attached": _shell(_ATTACH),
    "perf record": _shell(
        "perf record -q -o p.data -e task-clock sh -c 'exit 3' 2>&1; echo $?; "
        "perf script -i p.data -F comm 2>/dev/null | sort -u | head -1 | wc -l; rm -f p.data"
    ),
    "tmux panes": _shell(_TMUX),
    "ssh-agent": _shell(
        "eval $(ssh-agent -s) | wc -w; ssh-keygen -q -t ed25519 -N '' -f k; ssh-add -q k; ssh-add -l | wc -l; "
        "ssh-agent -k > /dev/null; echo $?; rm -f k k.pub"
    ),
    "sudo with variables": _shell(_SUDO.format(ours=OURS)),
    "su with login": _shell("su -s /bin/sh - nobody -c 'pwd; echo $HOME; exit 9' 2>&1; echo $?"),
    "daemon of two forks": _shell(_DAEMON_ENDS.format(python=sys.executable)),
    "namespaces": _shell("unshare -Urpf --mount-proc sh -c 'id -u; echo $$ /proc/[0-9]*; exit 4'; echo $?"),
    "namespace of networks": _shell("unshare -Urn sh -c 'cat /proc/net/dev | wc -l; exit 5'; echo $?"),
    "sandbox": _shell("bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all sh -c 'echo $$; id -u; exit 4'"),
    "sandbox without variables": _shell(f"bwrap {_ROOT} --clearenv sh -c 'env | wc -l; exit 4'; echo $?"),
    "sandbox with a root of its own": _shell(
        f"bwrap {_ROOT} sh -c 'ls / /nowhere; echo $$; id -u; sh -c id; exit 4'; echo $?"
    ),
    "root folder changed": _shell(_CHANGED_ROOT),
    "descriptors": [sys.executable, "-c", _DESCRIPTORS],
    "descriptors of a child": _shell(f"'{sys.executable}' -c '{_DESCRIPTORS}' 5< x.c 7> seven.txt"),
    "descriptors of another": ["ls", "/proc/self/fd"],
    "signals and limits": _shell(
        f"grep -E '{_GIVEN}' /proc/self/status; ulimit -a; nice; cat /proc/self/oom_score_adj"
    ),
    "sessions": _shell(_SESSIONS),
    **SANDBOXED,
    **LANGUAGES,
    "library loader": _shell("ldd x.so 2>&1; LD_DEBUG=help ls 2>&1 | head -3; ls /nowhere 2>&1"),
}  # fmt: skip
"""By name, as `programs.PROGRAMS`."""

NEEDED = {
    "go": ("go",),
    "rust": ("rustc",),
    "rust, static": ("rustc",),
    "chromium": ("chromium",),
    "chromium picture": ("chromium",),
    "valgrind threads": ("valgrind", "gcc"),
    "helgrind": ("valgrind", "gcc"),
    "gdb threads": ("gdb", "gcc"),
    "gdb attached": ("gdb",),
    "perf record": ("perf",),
    "tmux panes": ("tmux",),
    "ssh-agent": ("ssh-agent",),
    "sudo with variables": ("sudo",),
    "su with login": ("su",),
    "namespaces": ("unshare",),
    "namespace of networks": ("unshare",),
    "sandbox": ("bwrap",),
    "sandbox without variables": ("bwrap",),
    "sandbox with a root of its own": ("bwrap",),
    "root folder changed": ("unshare", "chroot"),
    **SANDBOXED_NEED,
    **LANGUAGES_NEED,
}
"""What must be installed for those whose first word does not say it."""

_COMPILED = {
    "go_program": ("go", "build", "-o", "go_program", "program.go"),
    "rust_program": ("rustc", "-O", "-o", "rust_program", "program.rs"),
    "rust_static": ("rustc", "-O", "-C", "target-feature=+crt-static", "-o", "rust_static", "program.rs"),
    "raw_go": ("go", "build", "-o", "raw_go", "raw_go.go"),
    "threads": ("gcc", "-g", "-pthread", "-o", "threads", "threads.c"),
}
_SOURCES = {
    "program.go": _GO,
    "program.rs": _RUST,
    "threads.c": _THREADS,
    "raw_go.go": RAW_GO,
}
FILES = {"J.java": _JAVA, "node.js": _NODE, "daemon.py": _DAEMON, **SCRIPTS}
"""What programs are started from, by name."""


@cache
def _workshop() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="warpline-fidelity-")
    for name, text in _SOURCES.items():
        (Path(folder.name) / name).write_text(text)
    return folder


@cache
def compiled(name: str) -> Path | None:
    """A program that is compiled once, however often it is run; None for a command that runs none."""
    words = _COMPILED.get(name)
    if words is None:
        return None
    folder = Path(_workshop().name)
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=600)
    return folder / name


def needs_compiled(command: list[str]) -> list[Path]:
    """The compiled programs that a command runs."""
    return [path for name in _COMPILED if f"./{name}" in " ".join(command) and (path := compiled(name))]
