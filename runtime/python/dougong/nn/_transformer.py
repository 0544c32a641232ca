"""Transformers (Vaswani et al., 2017): layers, stacks of them, and both stacks together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from .. import _core, _creation
from .._core import Tensor
from . import functional, init
from ._attention import MultiheadAttention
from ._containers import ModuleList
from ._layers import Dropout, LayerNorm, Linear
from ._module import Module

_Activation = str | Callable[[Tensor], Tensor]


def _activation(name: _Activation) -> Callable[[Tensor], Tensor]:
    if callable(name):
        return name
    if name not in ("relu", "gelu"):
        raise ValueError(f"activation must be 'relu', 'gelu' or a function; found {name!r}")
    return getattr(functional, name)


class _Layer(Module):
    """Residual blocks, each with its norm before (`norm_first`) or after."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: _Activation,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: Any,
        dtype: Any,
        attentions: tuple[str, ...],
    ) -> None:
        super().__init__()
        self.norm_first, self.activation = norm_first, _activation(activation)
        for name in attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, None, None, batch_first, device, dtype)
            self.register_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        for i in range(1, len(attentions) + 2):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            self.register_module(f"norm{i}", norm)
            self.register_module(f"dropout{i}", Dropout(dropout))

    def _block(self, number: int, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        norm, dropout = self._modules[f"norm{number}"], self._modules[f"dropout{number}"]
        if self.norm_first:
            return x + dropout(function(norm(x)))
        return norm(x + dropout(function(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a network of two linear maps."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        super().__init__(d_model, nhead, dim_feedforward, *options, ("self_attn",))

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attention(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        return self._block(2, self._block(1, src, attention), self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder made (the memory), then a network of two linear maps."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        super().__init__(d_model, nhead, dim_feedforward, *options, ("self_attn", "multihead_attn"))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def to_itself(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def to_memory(x: Tensor) -> Tensor:
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )[0]

        return self._block(3, self._block(2, self._block(1, tgt, to_itself), to_memory), self._feed_forward)


class _Stack(Module):
    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.register_module("norm", norm)


class TransformerEncoder(_Stack):
    """`num_layers` copies of an encoder layer, which begin with the same values, and a norm if given."""

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """`num_layers` copies of a decoder layer, which begin with the same values, and a norm if given."""

    def forward(self, tgt: Tensor, memory: Tensor, *masks: Any, **named_masks: Any) -> Tensor:
        """The masks are those of :meth:`TransformerDecoderLayer.forward`."""
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named_masks)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder that looks at what it made."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        options = (*options, batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self.encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        self.decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        padding = tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, tgt_mask, memory_mask, *padding, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
        """0 where query i may look, at the keys 0 .. i, and -inf elsewhere."""
        places = _creation.arange(size, device=device)
        later = _core.ops.gt(places, places.unsqueeze(1))
        return _core.ops.masked_fill(_creation.zeros(size, size, dtype=dtype, device=device), later, -math.inf)
