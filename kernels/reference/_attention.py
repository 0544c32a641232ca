"""Scores and weights of attention."""

import numpy as np


def repeated_heads(tensor, query):
    """The heads of key or value as often as query has them, neighbours alike."""
    if query.ndim == 2 or tensor.shape[-3] == query.shape[-3]:
        return tensor
    return np.repeat(tensor, query.shape[-3] // tensor.shape[-3], axis=-3)


def attention_weights(query, key, mask, bias, scale, causal):
    """softmax over the keys; 0 where no key is seen."""
    scores = np.matmul(query, np.swapaxes(repeated_heads(key, query), -1, -2)) * query.dtype.type(scale)
    scores = scores if bias is None else scores + bias
    lowest = query.dtype.type(-np.inf)
    scores = scores if mask is None else np.where(mask, scores, lowest)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, lowest)
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    unseen = top == -np.inf
    weights = np.exp(scores - np.where(unseen, query.dtype.type(0), top))
    return weights / np.where(unseen, query.dtype.type(1), np.sum(weights, axis=-1, keepdims=True))
