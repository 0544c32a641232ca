"""Multi-head attention."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from . import functional, init
from ._layers import Linear, _parameter
from ._module import Module
from .functional._attention import _causal_mask, _masked_softmax

_ops = _core.ops


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, each over its share of `embed_dim` features (Vaswani et al., 2017).

    Sequences are (positions, batch, features), (batch, positions, features) with `batch_first`, or without a batch.
    Keys have `kdim` features and values `vdim`, by default `embed_dim`.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} must be a multiple of num_heads {num_heads}, both positive")
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout = functional.checked_probability(dropout)
        self._joined = self.kdim == self.vdim == embed_dim
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        joined = _parameter((3 * embed_dim, embed_dim), device, dtype) if self._joined else None
        self.register_parameter("in_proj_weight", joined)
        for name, width in widths.items():
            self.register_parameter(name, None if self._joined else _parameter((embed_dim, width), device, dtype))
        self.register_parameter("in_proj_bias", _parameter((3 * embed_dim,), device, dtype) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result, and the weights (batch, queries, keys), with an axis of heads unless averaged, if needed.

        Masks are True, or -inf, where a query may *not* look: `key_padding_mask` is (batch, keys), `attn_mask`
        (queries, keys) or (batch * heads, queries, keys); a float mask is added to the scores. `is_causal` without
        `attn_mask` lets query i see the keys 0 .. i; with it, it says that the mask is that one. A query that sees no
        key gives what the output projection makes of zeros.
        """
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            raise _core.InvalidArgumentError(
                f"MultiheadAttention: query, key and value have 3 axes, or 2 without a batch; found {query.shape}, "
                f"{key.shape}, {value.shape}"
            )
        if query.ndim == 2:
            padding = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
            inputs = [x.unsqueeze(0) for x in (query, key, value)]
            result, weights = self._attend(*inputs, padding, need_weights, attn_mask, average_attn_weights, is_causal)
            return result.squeeze(0), None if weights is None else weights.squeeze(0)
        if not self.batch_first:
            shared = key is query, value is key
            query = query.transpose(0, 1)
            key = query if shared[0] else key.transpose(0, 1)
            value = key if shared[1] else value.transpose(0, 1)
        result, weights = self._attend(
            query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
        )
        return result if self.batch_first else result.transpose(0, 1), weights

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        padding: Tensor | None,
        need_weights: bool,
        attn_mask: Tensor | None,
        average: bool,
        is_causal: bool,
    ) -> tuple[Tensor, Tensor | None]:
        q, k, v = (self._heads(x) for x in self._project(query, key, value))
        only_causal = is_causal and attn_mask is None and padding is None
        mask = None if only_causal else self._mask(q, k, padding, attn_mask, is_causal)
        p = self.dropout if self.training else 0.0
        if need_weights:
            mask = _causal_mask(q.shape[-2], k.shape[-2], q.device) if only_causal else mask
            scores = _ops.matmul(q * (1 / math.sqrt(q.shape[-1])), k.mT)
            weights = functional.softmax(scores) if mask is None else _masked_softmax(scores, mask)
            weights = functional.dropout(weights, p)
            result = _ops.matmul(weights, v)
        else:
            weights = None
            result = functional.scaled_dot_product_attention(q, k, v, mask, p, is_causal=only_causal)
        joined = result.permute(0, 2, 1, 3).reshape(query.shape[0], query.shape[1], self.embed_dim)
        return self.out_proj(joined), _ops.mean(weights, 1) if need_weights and average else weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """The queries, keys and values; in one product where all come from the same sequence."""
        width = self.embed_dim
        bias = self.in_proj_bias
        if self._joined and query is key and key is value:
            joined = functional.linear(query, self.in_proj_weight, bias)
            return [joined[..., i * width : (i + 1) * width] for i in range(3)]
        weights = (
            [self.in_proj_weight[i * width : (i + 1) * width] for i in range(3)]
            if self._joined
            else [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        )
        biases = [None if bias is None else bias[i * width : (i + 1) * width] for i in range(3)]
        return [functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _heads(self, x: Tensor) -> Tensor:
        batch, positions, width = x.shape
        return x.reshape(batch, positions, self.num_heads, width // self.num_heads).permute(0, 2, 1, 3)

    def _mask(
        self, q: Tensor, k: Tensor, padding: Tensor | None, attn_mask: Tensor | None, is_causal: bool
    ) -> Tensor | None:
        """One mask in the sense of scaled_dot_product_attention: True where a query may look, or numbers to add."""
        batch, heads, queries, _ = q.shape
        masks = []
        if padding is not None:
            masks.append(_checked_mask("key_padding_mask", padding, (batch, k.shape[2])).reshape(batch, 1, 1, -1))
        if attn_mask is not None and attn_mask.ndim == 3:
            wanted = (batch * heads, queries, k.shape[2])
            masks.append(_checked_mask("attn_mask", attn_mask, wanted).reshape(batch, heads, *wanted[1:]))
        elif attn_mask is not None:
            masks.append(_checked_mask("attn_mask", attn_mask, (queries, k.shape[2])))
        elif is_causal:
            masks.append(_ops.logical_not(_causal_mask(queries, k.shape[2], q.device)))
        if not masks:
            return None
        if all(mask.dtype == _core.bool_ for mask in masks):
            return _ops.logical_not(masks[0] if len(masks) == 1 else _ops.logical_or(*masks))
        added = [_as_numbers(mask, q.dtype) for mask in masks]
        return added[0] if len(added) == 1 else added[0] + added[1]

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}, batch_first={self.batch_first}"


def _checked_mask(name: str, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    if mask.shape != shape or not (mask.dtype == _core.bool_ or mask.dtype.is_floating_point):
        raise _core.InvalidArgumentError(
            f"MultiheadAttention: {name} must be bool or float of shape {shape}; found {mask.dtype!r} of {mask.shape}"
        )
    return mask


def _as_numbers(mask: Tensor, dtype: _core.dtype) -> Tensor:
    if mask.dtype != _core.bool_:
        return mask.to(dtype=dtype)
    return _ops.masked_fill(_ops.full(mask.shape, 0.0, dtype, device=mask.device), mask, -math.inf)
