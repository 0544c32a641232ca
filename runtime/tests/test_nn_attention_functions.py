"""Attention, rotary embeddings and linear maps as functions."""

from __future__ import annotations

import dougong
import numpy as np
import pytest
from dougong.nn import functional

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=shape) for shape in ((2, 6, 5, 4), (2, 6, 7, 4), (2, 6, 7, 3)))


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, added: np.ndarray | float = 0.0) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + added
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def attend(*arrays: np.ndarray, **named) -> np.ndarray:
    return functional.scaled_dot_product_attention(*map(dougong.tensor, arrays), **named).numpy()


def test_attention_is_a_softmax_over_the_keys_under_each_kind_of_mask() -> None:
    np.testing.assert_allclose(attend(Q, K, V), attention(Q, K, V), rtol=1e-12)
    causal = np.where(np.tri(5, 7, dtype=bool), 0, -np.inf)
    np.testing.assert_allclose(attend(Q, K, V, is_causal=True), attention(Q, K, V, causal), rtol=1e-12)
    seen = RANDOM.random((2, 1, 5, 7)) < 0.7
    np.testing.assert_allclose(attend(Q, K, V, seen), attention(Q, K, V, np.where(seen, 0, -np.inf)), rtol=1e-12)
    bias = RANDOM.normal(size=(5, 7))
    np.testing.assert_allclose(attend(Q, K, V, bias), attention(Q, K, V, bias), rtol=1e-12)


def test_attention_shares_heads_in_groups_of_neighbours_only_if_asked() -> None:
    k, v = K[:, :2], V[:, :2]
    wanted = attention(Q, np.repeat(k, 3, 1), np.repeat(v, 3, 1))
    np.testing.assert_allclose(attend(Q, k, v, enable_gqa=True), wanted, rtol=1e-12)
    with pytest.raises(dougong.InvalidArgumentError, match="enable_gqa=True"):
        attend(Q, k, v)


def test_attention_broadcasts_the_axes_before_positions() -> None:
    np.testing.assert_allclose(attend(Q, K[:1, :1], V[0, 0]), attention(Q, K[:1, :1], V[0, 0]), rtol=1e-12)


def test_attention_of_transposed_views_is_that_of_copies() -> None:
    views = [dougong.tensor(np.ascontiguousarray(x.swapaxes(1, 2))).transpose(1, 2) for x in (Q, K, V)]
    found = functional.scaled_dot_product_attention(*views, is_causal=True).numpy()
    np.testing.assert_array_equal(found, attend(Q, K, V, is_causal=True))


def test_attention_that_drops_all_weights_gives_zeros_and_none_gives_attention() -> None:
    assert not attend(Q, K, V, dropout_p=1.0).any()
    dougong.manual_seed(0)
    dropped = attend(Q, K[:, :2], V[:, :2], dropout_p=0.5, enable_gqa=True, is_causal=True)
    assert dropped.shape == (2, 6, 5, 3) and not np.isnan(dropped).any()


def test_a_query_that_sees_nothing_gives_zeros_and_zero_gradients() -> None:
    q, k, v = (dougong.tensor(x, requires_grad=True) for x in (Q, K, V))
    seen = np.ones((5, 7), bool)
    seen[2] = False
    y = functional.scaled_dot_product_attention(q, k, v, dougong.tensor(seen))
    y.sum().backward()
    assert not y.detach().numpy()[..., 2, :].any() and not q.grad.numpy()[..., 2, :].any()
    assert all(np.isfinite(t.grad.numpy()).all() for t in (q, k, v))


def test_rotary_embedding_turns_pairs_of_features() -> None:
    angles = RANDOM.uniform(0, 6, size=(5, 2))
    turned = (Q[..., :2] + 1j * Q[..., 2:]) * np.exp(1j * angles)
    cos, sin = dougong.tensor(np.cos(angles)), dougong.tensor(np.sin(angles))
    found = functional.rotary_embedding(dougong.tensor(Q), cos, sin).numpy()
    np.testing.assert_allclose(found, np.concatenate([turned.real, turned.imag], -1), rtol=1e-12)
    turned = (Q[..., ::2] + 1j * Q[..., 1::2]) * np.exp(1j * angles)
    found = functional.rotary_embedding(dougong.tensor(Q), cos, sin, interleaved=True).numpy()
    np.testing.assert_allclose(found, np.stack([turned.real, turned.imag], -1).reshape(Q.shape), rtol=1e-12)


def test_second_gradients_pass_through_layers_that_keep_statistics() -> None:
    """d/dx of |d loss / dx|^2, against differences of the first gradient."""
    x, weight = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 3))

    def first(array: np.ndarray, layer) -> tuple:
        leaf = dougong.tensor(array, requires_grad=True)
        loss = (layer(leaf) * dougong.tensor(weight)).sum()
        return leaf, dougong.autograd.grad(loss, leaf, create_graph=True)[0]

    layers = [
        lambda t: functional.batch_norm(t, None, None, training=True),
        lambda t: functional.layer_norm(t, 3),
        lambda t: functional.rms_norm(t, 3, eps=0.1),
        lambda t: functional.scaled_dot_product_attention(t, t, t, is_causal=True),
    ]
    direction, step = RANDOM.normal(size=(4, 3)), 1e-5
    for layer in layers:
        leaf, gradient = first(x, layer)
        second = dougong.autograd.grad((gradient * gradient).sum(), leaf)[0].numpy()
        ends = [(first(x + s * step * direction, layer)[1].detach().numpy() ** 2).sum() for s in (1, -1)]
        np.testing.assert_allclose((second * direction).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
