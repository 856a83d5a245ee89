"""Write truth.json beside every sick program: find the culprit's line, time sick and cured.

measure.py [--lines] [NAME ...]    --lines: only renew causes and lines, keep the timings
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from truths import TRUTHS, WAITS

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.realpath(sys.executable)
TORCH = os.environ.get("WARPLINE_FRAMEWORKS_PYTHON", PYTHON)
SCRATCH = os.path.join(tempfile.gettempdir(), "warpline-strangers")


def source(name, version):
    for end in (".py", ".c"):
        path = os.path.join(HERE, name, version + end)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{name}/{version}")


def command(path):
    if path.endswith(".c"):
        os.makedirs(SCRATCH, exist_ok=True)
        name = os.path.basename(os.path.dirname(path))
        program = os.path.join(SCRATCH, f"{name}-{os.path.basename(path)[:-2]}")
        subprocess.run(["gcc", "-O1", "-g", "-o", program, path], check=True)
        return [program]
    with open(path) as f:
        return [TORCH if "import torch" in f.read() else PYTHON, path]


def line_of(path, text):
    with open(path) as f:
        which, text = (text[1], text[0]) if isinstance(text, tuple) else (None, text)
        hits = [i for i, line in enumerate(f, 1) if text in line]
    if which:
        hits = hits[which - 1:which]
    if len(hits) != 1:
        raise SystemExit(f"{path}: {text!r} is on lines {hits}")
    return hits[0]


def once(argv):
    before = os.times()
    start = time.monotonic()
    out = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    wall = time.monotonic() - start
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return wall, cpu, out


def measure(name):
    commands = {version: command(source(name, version)) for version in ("sick", "cured")}
    runs = {"sick": [], "cured": []}
    outputs = set()
    for _ in range(3):
        for version in runs:
            wall, cpu, out = once(commands[version])
            runs[version].append((wall, cpu))
            outputs.add(out)
    if len(outputs) != 1:
        raise SystemExit(f"{name}: different results {outputs}")
    result = {}
    for version, pairs in runs.items():
        result[f"{version}_s"] = round(statistics.median(p[0] for p in pairs), 3)
        result[f"{version}_cpu_s"] = round(statistics.median(p[1] for p in pairs), 3)
        result[f"{version}_runs_s"] = [round(p[0], 3) for p in pairs]
    result["gain_s"] = round(result["sick_s"] - result["cured_s"], 3)
    result["gain_ratio"] = round(result["sick_s"] / result["cured_s"], 2)
    result["load_average"] = round(os.getloadavg()[0], 1)
    return result


def main():
    arguments = sys.argv[1:]
    only_lines = "--lines" in arguments
    names = [a for a in arguments if a != "--lines"] or list(TRUTHS)
    for name in names:
        spec = TRUTHS[name]
        path = source(name, "sick")
        file = os.path.join(HERE, name, "truth.json")
        truth = {
            "cause": spec["cause"],
            "kind": spec["kind"],
            "file": os.path.basename(path),
            "line": line_of(path, spec["line"]),
            "alternative_lines": sorted(line_of(path, t) for t in spec.get("also", [])),
            "kind_words": spec["words"],
            "gain_basis": "seconds" if name in WAITS else "share",
        }
        if only_lines:
            with open(file) as f:
                old = json.load(f)
            truth.update({k: v for k, v in old.items() if k not in truth})
        else:
            truth.update(measure(name))
        with open(file, "w") as f:
            json.dump(truth, f, indent=2)
            f.write("\n")
        print(f"{name:16} {truth['kind']:24} line {truth['line']:3} {truth['alternative_lines']} "
              f"{truth['sick_runs_s']} {truth['cured_runs_s']} ratio {truth['gain_ratio']}",
              flush=True)


if __name__ == "__main__":
    main()
