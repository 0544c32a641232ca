"""Layers, losses and containers, with PyTorch's names and meanings."""

from . import _activations, functional, init, utils
from ._activations import *  # noqa: F403
from ._attention import MultiheadAttention
from ._containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from ._layers import (
    AlphaDropout,
    Bilinear,
    Conv2d,
    CosineSimilarity,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    Embedding,
    EmbeddingBag,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    MaxPool2d,
    PixelShuffle,
    PixelUnshuffle,
    Unflatten,
)
from ._losses import CrossEntropyLoss, MSELoss
from ._module import IncompatibleKeys, Module, Parameter
from ._recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from ._transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    *_activations.__all__,
    "AlphaDropout",
    "Bilinear",
    "Conv2d",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "GRU",
    "GRUCell",
    "Identity",
    "IncompatibleKeys",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "RNN",
    "RNNCell",
    "Sequential",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
    "functional",
    "init",
    "utils",
]
