"""Paddle, a static graph that is trained and evaluated."""

import json

import numpy as np
import paddle

STEPS, EPOCHS = 5, 2


def main():
    paddle.enable_static()
    trained, prepared = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(trained, prepared):
        x = paddle.static.data("x", [None, 8])
        loss = paddle.static.nn.fc(x, 4).mean()
        tested = trained.clone() if hasattr(trained, "num_ops") else trained.clone(for_test=True)
        paddle.optimizer.Adam().minimize(loss)
    executor = paddle.static.Executor()
    executor.run(prepared)
    feed = {"x": np.ones((2, 8), "float32")}
    for _ in range(EPOCHS):
        for _ in range(STEPS):
            executor.run(trained, feed=feed, fetch_list=[loss])
        executor.run(tested, feed=feed)
    print(json.dumps({"steps": STEPS * EPOCHS, "runs": (STEPS + 1) * EPOCHS + 1}))


main()
