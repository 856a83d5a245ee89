"""Runs a command and writes what it cost into a file, as JSON: CPU seconds with its children, wall seconds, status."""

import json
import os
import sys
import time


def main() -> None:
    output, *command = sys.argv[1:]
    began = time.perf_counter()
    nothing = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[nothing])
    _pid, status, used = os.wait4(pid, 0)
    cost = {
        "cpu_s": used.ru_utime + used.ru_stime,
        "wall_s": time.perf_counter() - began,
        "status": os.waitstatus_to_exitcode(status),
    }
    with open(output, "w") as file:
        json.dump(cost, file)


main()
