"""Attention."""

from __future__ import annotations

import math

from ... import _core, _creation
from ..._core import Tensor
from ._basic import dropout
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
) -> Tensor:
    """softmax(query @ key.T * scale) @ value over the last two axes (positions, features).

    A bool mask says which keys take part; a float mask is added to the scores. A query that sees no key gives 0, and
    its gradients are 0.
    """
    if is_causal and attn_mask is not None:
        raise ValueError("attention: give either attn_mask or is_causal")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _ops.matmul(query, key.mT) * scale
    if is_causal:
        attn_mask = _causal_mask(query.shape[-2], key.shape[-2], query.device)
    if attn_mask is None:
        return _ops.matmul(dropout(softmax(scores), dropout_p), value)
    weights = _masked_softmax(scores, attn_mask)
    return _ops.matmul(dropout(weights, dropout_p), value)


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
