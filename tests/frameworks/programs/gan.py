"""Two models, two optimisers, one batch for both."""

import torch
from own_clock import Clock
from torch import nn
from torch.utils.data import DataLoader

torch.set_num_threads(1)
clock = Clock()
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizers = [torch.optim.Adam(model.parameters()) for model in (critic, generator)]
for real in clock.batches(DataLoader(torch.randn(40, 8), batch_size=8)):
    for number in range(2):
        optimizers[0].zero_grad()
        (critic(generator(torch.randn(8, 4)).detach()).mean() - critic(real).mean()).backward()
        optimizers[0].step()
        if number == 0:
            optimizers[1].zero_grad()
            (-critic(generator(torch.randn(8, 4))).mean()).backward()
            optimizers[1].step()
            break
    clock.steps += 1
clock.say()
