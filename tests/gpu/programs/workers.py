"""A DataLoader with forked workers beside CUDA, and a spawned process with CUDA of its own."""

from __future__ import annotations

import multiprocessing

from common import need_torch

torch = need_torch()


class Numbers(torch.utils.data.Dataset):
    """Random pictures."""

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> object:
        return torch.randn(3, 32, 32)


def other() -> None:
    """CUDA in another process, whose correlation ids begin at 1 again."""
    value = torch.ones(1 << 10, device="cuda")
    for _ in range(50):
        value.add_(1)
    torch.cuda.synchronize()


if __name__ == "__main__":
    model = torch.nn.Conv2d(3, 8, 3).cuda()
    process = multiprocessing.get_context("spawn").Process(target=other)
    process.start()
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=16, num_workers=2):
        model(batch.cuda()).sum().backward()
    torch.cuda.synchronize()
    process.join()
    raise SystemExit(process.exitcode)
