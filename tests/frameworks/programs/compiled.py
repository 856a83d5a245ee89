"""Compiles a model, a whole training step and an optimiser; prints graphs, graph breaks and recompilations."""

import json

import torch
import torch._dynamo as dynamo
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(torch.relu(self.linear(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        # A hook has torch go the long way through the calls of modules.
        self.blocks[1].register_forward_hook(lambda *_: None)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def counted():
    found = dynamo.utils.counters
    result = {
        **found["stats"],
        "breaks": sum(found["graph_break"].values()),
        "recompiles": sum(found["recompiles"].values()),
    }
    dynamo.reset()
    found.clear()
    return result


torch.set_num_threads(1)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
compiled = torch.compile(net, backend="eager", fullgraph=True)
told = {}
for _ in range(4):
    compiled(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
told["full"] = counted()


@torch.compile(backend="eager")
def step(x):
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


for _ in range(4):
    step(torch.randn(4, 8))
told["step"] = counted()
optimize = torch.compile(optimizer.step, backend="eager")
for _ in range(3):
    net(torch.randn(4, 8)).sum().backward()
    optimize()
    optimizer.zero_grad()
told["optimizer"] = counted()
told["exported"] = len(torch.export.export(Net(), (torch.randn(4, 8),)).graph.nodes)
told["traced"] = len(list(torch.fx.symbolic_trace(Net()).graph.nodes))
print(json.dumps(told))
