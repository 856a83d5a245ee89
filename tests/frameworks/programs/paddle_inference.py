"""Paddle Inference with its own profile switched on: prints the events of that profile as JSON."""

import json
import os
import re
import sys

import numpy as np
import paddle

LINE = re.compile(r"^\s*(?:thread\d+::)?(\S+)\s+(\d+)\s+([\d.e-]+)(?:\s+[\d.e-]+){4}\s*$")


def predict(folder):
    from paddle import inference

    config = inference.Config(os.path.join(folder, "net.json"), os.path.join(folder, "net.pdiparams"))
    config.disable_gpu()
    config.enable_profile()
    predictor = inference.create_predictor(config)
    given = predictor.get_input_handle(predictor.get_input_names()[0])
    for _ in range(5):
        given.copy_from_cpu(np.ones((16, 64), "float32"))
        predictor.run()


def main(folder):
    net = paddle.nn.Sequential(paddle.nn.Linear(64, 128), paddle.nn.ReLU(), paddle.nn.Linear(128, 8))
    net.eval()
    spec = [paddle.static.InputSpec([None, 64], "float32")]
    paddle.jit.save(net, os.path.join(folder, "net"), input_spec=spec)
    report = os.path.join(folder, "report.txt")
    kept = os.dup(1)
    with open(report, "wb") as file:
        os.dup2(file.fileno(), 1)
    predict(folder)
    os.dup2(kept, 1)
    with open(report) as file:
        lines = file.read().partition("Event Summary")[2].partition("Memory Profiling")[0].splitlines()
    found = [match.groups() for match in map(LINE.match, lines) if match]
    print(json.dumps({"events": [(name, int(calls), float(total)) for name, calls, total in found]}))


main(sys.argv[1])
