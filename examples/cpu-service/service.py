"""A matrix product on the CPU."""

import torch

print(torch.ones(2, 3) @ torch.ones(3, 2))
