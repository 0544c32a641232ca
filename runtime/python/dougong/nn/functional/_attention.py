"""Attention."""

from __future__ import annotations

import math

from ... import _core, _creation
from ..._core import Tensor
from ._basic import broadcast_shape, dropout
from ._norms import softmax

_ops = _core.ops


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value over the last two axes (positions, features).

    A bool mask says which keys take part; a float mask is added to the scores. A query that sees no key gives 0, and
    its gradients are 0. With `enable_gqa` key and value may have fewer heads (the axis before the last two), each for a
    group of neighbours of query's. The default scale is 1 / sqrt(features).
    """
    if is_causal and attn_mask is not None:
        raise ValueError("attention: give either attn_mask or is_causal")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    query, key, value = _with_one_batch(query, key, value, enable_gqa)
    if dropout_p:
        return _with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale)
    if attn_mask is None or attn_mask.dtype == _core.bool_:
        return _ops.scaled_dot_product_attention(query, key, value, attn_mask, None, scale, is_causal)
    bias = attn_mask.to(dtype=query.dtype)
    return _ops.scaled_dot_product_attention(query, key, value, None, bias, scale, is_causal)


def rotary_embedding(input: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Pairs of features turned by the angles with these cosines and sines, which broadcast to (..., positions, pairs).

    A pair is feature i and i + pairs, or 2i and 2i + 1 with `interleaved`; features behind all pairs stay.
    """
    return _ops.rotary_embedding(input, cos, sin, interleaved)


def _with_one_batch(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> list[Tensor]:
    """The axes before the last two broadcast; the heads, the last of them, not where they are grouped."""
    tensors, last = [query, key, value], 3 if grouped else 2
    if grouped and min(t.ndim for t in tensors) < 3:
        raise _core.InvalidArgumentError("attention: enable_gqa needs an axis of heads before (positions, features)")
    batches = [t.shape[:-last] for t in tensors]
    if batches[0] == batches[1] == batches[2]:
        return tensors
    try:
        batch = broadcast_shape(*batches)
    except _core.InvalidArgumentError as error:
        raise _core.InvalidArgumentError(
            f"attention: the axes of query, key and value before (positions, features) must broadcast; found "
            f"{batches}. For fewer heads of key and value give enable_gqa=True"
        ) from error
    return [t.expand(*batch, *t.shape[-last:]) for t in tensors]


def _with_dropout(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float,
) -> Tensor:
    """Dropout acts on the weights, so that these must be there as a tensor."""
    key, value = (_repeated_heads(t, query) for t in (key, value))
    scores = _ops.matmul(query, key.mT) * scale
    if is_causal:
        mask = _causal_mask(query.shape[-2], key.shape[-2], query.device)
    weights = softmax(scores) if mask is None else _masked_softmax(scores, mask)
    return _ops.matmul(dropout(weights, dropout_p), value)


def _repeated_heads(tensor: Tensor, query: Tensor) -> Tensor:
    if query.ndim == 2 or tensor.shape[-3] == query.shape[-3]:
        return tensor
    *batch, heads, positions, features = tensor.shape
    group = query.shape[-3] // heads
    repeated = tensor.unsqueeze(-3).expand(*batch, heads, group, positions, features)
    return repeated.reshape(*batch, heads * group, positions, features)


def _causal_mask(queries: int, keys: int, device: _core.Device) -> Tensor:
    """Query i sees the keys 0 .. i."""
    rows = _creation.arange(queries, device=device).unsqueeze(1)
    return _ops.le(_creation.arange(keys, device=device), rows)


def _masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype == _core.bool_:
        blocked = _ops.logical_not(mask)
    else:
        blocked = _ops.eq(mask, -math.inf)
        scores = scores + _ops.masked_fill(mask, blocked, 0)
    nothing_seen = _ops.min(blocked, -1, True)
    # Rows that see nothing are computed as if they saw all, so that no NaN arises on either way.
    hidden = _ops.logical_and(blocked, _ops.logical_not(nothing_seen))
    weights = softmax(_ops.masked_fill(scores, hidden, -math.inf))
    return _ops.masked_fill(weights, nothing_seen, 0)
