"""Stands in for PyTorch: modules, classes and functions of the same names that only take the time they are told."""

from torch import _C, autograd, compiler, cuda, nn, optim
from torch.serialization import load, save
from torch.utils import data

__all__ = ["_C", "autograd", "compiler", "cuda", "data", "load", "nn", "optim", "save"]
