"""Optimizers, with PyTorch's names and meanings."""

from . import lr_scheduler
from ._adam import Adam, AdamW
from ._adaptive import LAMB, Adagrad, RMSprop
from ._optimizer import Optimizer
from ._sgd import SGD

__all__ = ["LAMB", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
