"""A kernel of Triton, launched many times."""

from common import need, need_torch

torch = need_torch()
triton = need("triton")
language = triton.language
LAUNCHES = 200


@triton.jit
def add_numbers(numbers, count, block: language.constexpr):
    places = language.program_id(0) * block + language.arange(0, block)
    values = language.load(numbers + places, mask=places < count)
    language.store(numbers + places, values + 1, mask=places < count)


numbers = torch.zeros(1 << 12, device="cuda")
for _ in range(LAUNCHES):
    add_numbers[(4,)](numbers, numbers.numel(), block=1024)
torch.cuda.synchronize()
assert numbers.min().item() == LAUNCHES
print(f"name=add_numbers\nkernels={LAUNCHES}")
