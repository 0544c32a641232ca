"""The gradients of attention by the chain rule."""

import numpy as np

from ._attention import attention_weights, repeated_heads


def scaled_dot_product_attention_backward(dy, query, key, value, mask, bias, *, scale, causal):
    with np.errstate(all="ignore"):
        weights = attention_weights(query, key, mask, bias, scale, causal)
        keys, values, factor = repeated_heads(key, query), repeated_heads(value, query), query.dtype.type(scale)
        dweights = np.matmul(dy, np.swapaxes(values, -1, -2))
        dscores = weights * (dweights - np.sum(weights * dweights, axis=-1, keepdims=True))
        dkey = np.matmul(np.swapaxes(dscores, -1, -2), query) * factor
        dvalue = np.matmul(np.swapaxes(weights, -1, -2), dy)
        dbias = np.zeros(0, query.dtype) if bias is None else summed_to(dscores, bias.shape)
        dkey, dvalue = shared(dkey, key), shared(dvalue, value)
        return np.matmul(dscores, keys) * factor, dkey, dvalue, dbias


def shared(gradient, tensor):
    """The gradients of repeated heads, added up."""
    if gradient.shape == tensor.shape:
        return gradient
    heads = tensor.shape[-3]
    return np.sum(gradient.reshape(*tensor.shape[:-3], heads, -1, *tensor.shape[-2:]), axis=-3)


def summed_to(gradient, shape):
    before = gradient.ndim - len(shape)
    axes = tuple(i for i in range(gradient.ndim) if i < before or shape[i - before] == 1)
    return np.sum(gradient, axis=axes).reshape(shape)
