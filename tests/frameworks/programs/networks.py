"""Networks of PyTorch and Paddle as captures: `networks.py FRAMEWORK FILE`."""

import sys

import warpline


def of_torch():
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten())
            self.head = nn.Linear(8 * 30 * 30, 10)

        def forward(self, values):
            return self.head(self.body(values))

    return Net(), (None, 3, 32, 32)


def of_paddle():
    import paddle

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.ReLU(), paddle.nn.Flatten())
            self.head = paddle.nn.Linear(8 * 30 * 30, 10)

        def forward(self, values):
            return self.head(self.body(values))

    return Net(), [paddle.static.InputSpec([None, 3, 32, 32], "float32")]


net, spec = {"torch": of_torch, "paddle": of_paddle}[sys.argv[1]]()
print(warpline.model_graph(net, spec, sys.argv[2]))
