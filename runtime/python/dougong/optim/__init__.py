"""Optimizers, with PyTorch's names and meanings."""

from . import lr_scheduler
from ._adam import Adam, AdamW
from ._optimizer import Optimizer
from ._sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
