"""DistributedDataParallel on gloo; started by torchrun, each rank prints its own clock."""

import torch
import torch.distributed as dist
from own_clock import Clock
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.set_num_threads(1)
dist.init_process_group("gloo")
clock = Clock()
model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(48, 8), torch.randint(0, 2, (48,)))
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
for x, y in clock.batches(loader):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss.detach())
    clock.steps += 1
clock.say(rank=dist.get_rank())
dist.destroy_process_group()
