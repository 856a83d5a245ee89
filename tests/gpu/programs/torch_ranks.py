"""A rank of a job: a few steps with an all-reduce between them, through gloo so that both ranks may share a GPU."""

from __future__ import annotations

from common import need_torch

torch = need_torch()
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
torch.cuda.set_device(rank % torch.cuda.device_count())
value = torch.full((1 << 10,), float(rank)).to("cuda")
for _ in range(5):
    for _ in range(20):
        value.add_(1)
    on_host = value.cpu()
    torch.distributed.all_reduce(on_host)
    value.copy_(on_host)
torch.cuda.synchronize()
torch.distributed.destroy_process_group()
print(f"rank{rank}=done")
