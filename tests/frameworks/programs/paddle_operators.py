"""Paddle: some steps, counted by its own profiler."""

import collections
import json
import tempfile
from pathlib import Path

import paddle
from paddle import nn, profiler

WANTED = ("Operator", "OperatorInner", "DygraphKernelLaunch", "UserDefined")


def main():
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    batch = paddle.randn([4, 8])

    def step():
        net(batch).mean().backward()
        optimizer.step()
        optimizer.clear_grad()

    step()
    own = profiler.Profiler(targets=[profiler.ProfilerTarget.CPU], on_trace_ready=lambda _: None)
    own.start()
    with profiler.RecordEvent("counted"):
        for _ in range(3):
            step()
    own.stop()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.json"
        own.export(str(path), "json")
        events = [one for one in json.loads(path.read_text())["traceEvents"] if one.get("cat") in WANTED]
    names = (f"{one['cat']}: {one['name'].partition('[')[0]}" for one in events)
    spent = sum(one["dur"] for one in events if one["cat"] == "Operator")
    print(json.dumps({"operators": collections.Counter(names), "operators_us": spent}))


main()
