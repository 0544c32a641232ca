"""Layers as functions: PyTorch's names, arguments and meanings."""

from ._attention import scaled_dot_product_attention
from ._basic import (
    checked_padding_idx,
    checked_probability,
    dropout,
    embedding,
    gelu,
    linear,
    one_hot,
    relu,
    sigmoid,
    tanh,
)
from ._images import conv2d, max_pool2d, pad
from ._losses import cross_entropy, mse_loss
from ._norms import layer_norm, log_softmax, softmax

__all__ = [
    "conv2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "max_pool2d",
    "mse_loss",
    "one_hot",
    "pad",
    "relu",
    "scaled_dot_product_attention",
    "sigmoid",
    "softmax",
    "tanh",
]
