"""Keep the asset catalogue in memory and hand small jobs to helper tools."""
import hashlib
import os
import signal
import subprocess
from collections import defaultdict

ASSETS = 1_200_000
JOBS = 100
TIMEOUT = 5.0


class Catalogue:
    """Asset id -> record, all resident because the planner walks it a lot."""

    def __init__(self):
        self.records = {}
        self.by_scene = defaultdict(list)

    def load(self, count):
        scenes = [f"scene-{i:03d}" for i in range(400)]
        for asset in range(count):
            scene = scenes[asset % 400]
            self.records[asset] = (scene, asset * 2654435761 % 4294967291, float(asset))
            if asset % 50 == 0:
                self.by_scene[scene].append(asset)

    def plan(self, number):
        scene = f"scene-{number * 7 % 400:03d}"
        picked = self.by_scene.get(scene) or self.by_scene["scene-000"]
        return scene, [self.records[a][1] for a in picked[:20]]


class Runner:
    def __init__(self):
        self.failures = 0
        self.environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}

    def stop_group(self, proc):
        os.killpg(proc.pid, signal.SIGKILL)
        proc.wait()

    def launch(self, lines):
        proc = subprocess.Popen(
            ["sort", "-n", "-u"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
        )
        try:
            out, _ = proc.communicate("\n".join(lines).encode() + b"\n", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.stop_group(proc)
            self.failures += 1
            return []
        if proc.returncode:
            self.failures += 1
        return out.split()


def fingerprint(rows):
    digest = hashlib.blake2b(digest_size=8)
    for row in rows:
        digest.update(row)
    return digest.hexdigest()


def main():
    catalogue = Catalogue()
    catalogue.load(ASSETS)
    runner = Runner()
    results = {}
    for number in range(JOBS):
        scene, values = catalogue.plan(number)
        rows = runner.launch([str(v) for v in values])
        results[number] = (scene, len(rows), fingerprint(rows))
    print("assets", len(catalogue.records), "jobs", len(results), "failures", runner.failures)
    print("last", results[JOBS - 1])


if __name__ == "__main__":
    main()
