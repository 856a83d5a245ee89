"""Record the held-out programs and compare the first finding with the truth.

score.py [--timeout S] [--keep] [--cured] [--json FILE] [NAME ...]

NAME is a folder (order_dedupe), a healthy program (healthy/routes) or 'healthy' for all of these;
without names, everything runs. --keep checks captures that exist, without recording
again. --cured records the cured ones, too: they must be silent. The guess is only a guess: read the finding before you believe it.
"""
import argparse
import glob
import json
import os
import re
import signal
import subprocess
import sys

from measure import HERE, SCRATCH, command, source

WARPLINE = [sys.executable, "-m", "warpline"]


def call(argv, cwd, timeout):
    """Exit status, output and the end of the errors; -1 when it took too long."""
    process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err[-500:]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return -1, "", f"took more than {timeout} s"


def findings_of(name, path, options):
    """The parsed output of warpline check, or a string that says what went wrong."""
    capture = os.path.join(SCRATCH, name.replace("/", "-") + ".h5")
    if not (options.keep and os.path.exists(capture)):
        if os.path.exists(capture):
            os.unlink(capture)
        argv = command(path)
        argv = [os.path.basename(a) if a == path else a for a in argv]
        code, _, err = call([*WARPLINE, "record", "--no-check", "-o", capture, "--", *argv],
                            os.path.dirname(path), options.timeout)
        if code or not os.path.exists(capture):
            return f"recording failed ({code}): {err.strip()}"
    code, out, err = call([*WARPLINE, "check", "--json", capture], HERE, 120)
    try:
        return json.loads(out)
    except ValueError:
        return f"check failed ({code}): {err.strip()}"


def place(finding):
    where = finding.get("where") or {}
    if not where.get("file"):
        return "-"
    return f"{os.path.basename(where['file'])}:{where.get('line')}"


def judge(finding, truth, seconds):
    text = " ".join(str(finding.get(k) or "") for k in ("id", "title", "text", "remedy")).lower()
    words = [w for w in truth["kind_words"] if re.search(r"\b" + re.escape(w.lower().strip()), text)]
    lines = {truth["line"], *truth["alternative_lines"]}
    where = finding.get("where") or {}
    line_ok = (os.path.basename(where.get("file") or "") == truth["file"]
               and where.get("line") in lines)
    gain = finding.get("gain_ns")
    share_ratio = absolute_ratio = None
    if gain is not None:
        share_ratio = gain / 1e9 / seconds / (1 - 1 / truth["gain_ratio"])
        absolute_ratio = gain / 1e9 / truth["gain_s"]
    gain_ratio = absolute_ratio if truth["gain_basis"] == "seconds" else share_ratio
    return {"cause_guess": bool(words), "words_found": words, "line_ok": line_ok,
            "gain_share_ratio": share_ratio, "gain_absolute_ratio": absolute_ratio,
            "gain_quotient": gain_ratio,
            "gain_ok": gain_ratio is not None and 0.8 <= gain_ratio <= 1.25}


def number(value):
    return "   -" if value is None else f"{value:4.2f}"


def loud_findings(report):
    return [f for f in report.get("findings") or [] if f.get("severity") in ("warning", "critical")]


def add_cured(name, options, result):
    """Record and check the cured program; its loud findings join the result."""
    report = findings_of(name + "-cured", source(name, "cured"), options)
    if isinstance(report, str):
        result["error"] = report
        print(f"  ERROR    cured: {report}")
        return
    result["loud"] = [f["id"] for f in loud_findings(report)]
    for finding in loud_findings(report):
        print(f"  CURED    {finding['id']} ({finding['severity']}) at {place(finding)}: {finding.get('text')}")


def sick(name, options):
    with open(os.path.join(HERE, name, "truth.json")) as f:
        truth = json.load(f)
    result = {"name": name, "truth": truth}
    report = findings_of(name, source(name, "sick"), options)
    print(f"\n{name}  [{truth['kind']}]")
    if isinstance(report, str):
        print(f"  ERROR    {report}")
        result["error"] = report
        return result
    # Gains are promised for the range without waits for cores that other programs used.
    waited = sum(part["time_ns"] for part in report["budget"] if part["cause"] == "runnable")
    seconds = (report["range_ns"][1] - report["range_ns"][0] - waited) / 1e9
    findings = report.get("findings") or []
    result["seconds"] = seconds
    result["findings"] = findings
    if findings:
        first = findings[0]
        verdict = judge(first, truth, seconds)
        gain = first.get("gain_ns")
        print(f"  finding  {first['id']} ({first.get('severity')}) at {place(first)}: "
              f"{first.get('title')}, gain {'-' if gain is None else f'{gain / 1e9:.3f} s'} "
              f"of {seconds:.3f} s")
        print(f"           {first.get('text')}")
        if first.get("remedy"):
            print(f"           -> {first['remedy']}")
        for other in findings[1:3]:
            print(f"  then     {other['id']} ({other.get('severity')}) at {place(other)}")
    else:
        verdict = {"cause_guess": False, "words_found": [], "line_ok": False, "gain_ok": False,
                   "gain_quotient": None, "gain_share_ratio": None, "gain_absolute_ratio": None}
        print(f"  finding  none, of {seconds:.3f} s")
    print(f"  truth    {truth['file']}:{truth['line']} {truth['alternative_lines'] or ''} "
          f"{truth['cause']} Ratio {truth['gain_ratio']} "
          f"({truth['sick_s']} -> {truth['cured_s']} s)")
    mark = {True: "right", False: "WRONG"}
    print(f"  guess    cause {mark[verdict['cause_guess']]} {verdict['words_found']}, "
          f"line {mark[verdict['line_ok']]}, gain {mark[verdict['gain_ok']]} "
          f"(predicted/measured: share {number(verdict['gain_share_ratio'])}, "
          f"seconds {number(verdict['gain_absolute_ratio'])})")
    result["verdict"] = verdict
    if options.cured:
        add_cured(name, options, result)
    return result


def healthy(name, options):
    result = {"name": name}
    report = findings_of(name, os.path.join(HERE, name + ".py"), options)
    print(f"\n{name}  [healthy]")
    if isinstance(report, str):
        print(f"  ERROR    {report}")
        result["error"] = report
        return result
    loud = loud_findings(report)
    result["loud"] = [f["id"] for f in loud]
    result["findings"] = report.get("findings") or []
    result["silent"] = not loud
    for finding in loud:
        print(f"  LOUD     {finding['id']} ({finding['severity']}) at {place(finding)}: "
              f"{finding.get('text')}")
    if not loud:
        print(f"  silent   ({len(result['findings'])} notes)")
    return result


def table(results):
    print(f"\n{'name':20} {'finding':26} {'where':16} {'gain':>9} {'pred/meas':>9}  "
          f"{'truth':24} cause line gain")
    for r in results:
        if "error" in r:
            print(f"{r['name']:20} ERROR")
            continue
        if "silent" in r:
            loud = [f["id"] for f in r["findings"] if f.get("severity") in ("warning", "critical")]
            print(f"{r['name']:20} {', '.join(loud) or '(silent)':26} {'':16} {'':9} {'':9}  "
                  f"{'healthy':24} {'right' if r['silent'] else 'WRONG'}")
            continue
        v = r["verdict"]
        first = r["findings"][0] if r["findings"] else {"id": "(none)"}
        gain = first.get("gain_ns")
        marks = " ".join(f"{'yes' if v[k] else 'NO':5}" for k in ("cause_guess", "line_ok", "gain_ok"))
        print(f"{r['name']:20} {first['id']:26} {place(first):16} "
              f"{'-' if gain is None else f'{gain / 1e9:.3f} s':>9} "
              f"{number(v['gain_quotient']):>9}  {r['truth']['kind']:24} {marks}")
    ill = [r["verdict"] for r in results if "verdict" in r]
    well = [r for r in results if "silent" in r]
    if ill:
        print(f"sick: cause {sum(v['cause_guess'] for v in ill)}, "
              f"line {sum(v['line_ok'] for v in ill)}, "
              f"cause and line {sum(v['cause_guess'] and v['line_ok'] for v in ill)}, "
              f"gain {sum(v['gain_ok'] for v in ill)}, "
              f"all three {sum(v['cause_guess'] and v['line_ok'] and v['gain_ok'] for v in ill)} "
              f"of {len(ill)}")
    asked = [r["loud"] for r in results if "verdict" in r and "loud" in r]
    if asked:
        print(f"cured: silent {sum(not loud for loud in asked)} of {len(asked)}")
    if well:
        print(f"healthy: silent {sum(r['silent'] for r in well)} of {len(well)}")
    broken = sum("error" in r for r in results)
    if broken:
        print(f"{broken} could not be recorded or checked")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each recording")
    parser.add_argument("--keep", action="store_true", help="do not record again")
    parser.add_argument("--cured", action="store_true", help="record the cured ones, too")
    parser.add_argument("--json", help="write all results to this file")
    options = parser.parse_args()
    os.makedirs(SCRATCH, exist_ok=True)
    well = ["healthy/" + os.path.basename(p)[:-3]
            for p in sorted(glob.glob(os.path.join(HERE, "healthy", "*.py")))]
    ill = sorted(os.path.basename(os.path.dirname(p))
                 for p in glob.glob(os.path.join(HERE, "*", "truth.json")))
    names = []
    for name in options.names or ill + ["healthy"]:
        name = name.rstrip("/").removesuffix(".py")
        names += well if name == "healthy" else [name]
    unknown = [n for n in names if n not in ill and n not in well]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}")
    results = []
    for name in names:
        results.append(healthy(name, options) if name in well else sick(name, options))
        sys.stdout.flush()
    table(results)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
