"""Multi-head attention and transformers, against their definitions in NumPy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import dougong
import numpy as np
import pytest
from dougong import nn

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(layer: nn.MultiheadAttention, q: np.ndarray, k: np.ndarray, v: np.ndarray, added: Any = 0.0) -> Any:
    """The definition, for (batch, positions, features): each head on its own."""
    state = {name: part.numpy() for name, part in layer.state_dict().items()}
    if "in_proj_weight" in state:
        weights = np.split(state["in_proj_weight"], 3)
    else:
        weights = [state[f"{name}_proj_weight"] for name in "qkv"]
    biases = np.split(state["in_proj_bias"], 3)
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), weights, biases, strict=True))
    size = layer.embed_dim // layer.num_heads
    heads, scores = [], []
    for h in range(layer.num_heads):
        part = slice(h * size, (h + 1) * size)
        scores.append(softmax(q[..., part] @ k[..., part].swapaxes(-1, -2) / np.sqrt(size) + added))
        heads.append(scores[-1] @ v[..., part])
    return np.concatenate(heads, -1) @ state["out_proj.weight"].T + state["out_proj.bias"], np.stack(scores, 1)


def tensors(*arrays: np.ndarray) -> list[dougong.Tensor]:
    return [dougong.tensor(a) for a in arrays]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("widths", [(None, None), (6, 10)])
def test_attention_is_its_definition(widths: tuple[Any, Any], need_weights: bool):
    layer = nn.MultiheadAttention(8, 2, kdim=widths[0], vdim=widths[1], batch_first=True)
    q, k, v = array(3, 5, 8), array(3, 4, widths[0] or 8), array(3, 4, widths[1] or 8)
    wanted, weights = attention(layer, q, k, v)
    y, found = layer(*tensors(q, k, v), need_weights=need_weights)
    np.testing.assert_allclose(y.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)
    if need_weights:
        np.testing.assert_allclose(found.detach().numpy(), weights.mean(1), rtol=1e-4, atol=1e-6)
        apart = layer(*tensors(q, k, v), average_attn_weights=False)[1]
        np.testing.assert_allclose(apart.detach().numpy(), weights, rtol=1e-4, atol=1e-6)
    else:
        assert found is None


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks_say_where_a_query_may_not_look(need_weights: bool):
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = array(3, 4, 8)
    padding = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]], bool)
    later = np.triu(np.ones((4, 4), bool), 1)
    bias = array(4, 4)
    t = dougong.tensor(x)

    def check(added: np.ndarray, **masks: Any) -> None:
        y, _ = layer(t, t, t, need_weights=need_weights, **masks)
        np.testing.assert_allclose(y.detach().numpy(), attention(layer, x, x, x, added)[0], rtol=1e-4, atol=1e-5)

    hidden = np.where(padding, -np.inf, 0)[:, None]
    check(hidden, key_padding_mask=dougong.tensor(padding))
    check(np.where(later, -np.inf, 0), attn_mask=dougong.tensor(later))
    check(np.where(later, -np.inf, 0), is_causal=True)
    check(np.where(later, -np.inf, 0) + hidden, is_causal=True, key_padding_mask=dougong.tensor(padding))
    check(bias, attn_mask=dougong.tensor(bias))
    check(bias + hidden, attn_mask=dougong.tensor(bias), key_padding_mask=dougong.tensor(padding))
    each = np.repeat(padding[:, None], 2, 1).reshape(6, 1, 4) | np.zeros((6, 4, 4), bool)
    check(hidden, attn_mask=dougong.tensor(each))
    with pytest.raises(dougong.InvalidArgumentError, match=r"key_padding_mask must be .*\(3, 4\)"):
        layer(t, t, t, key_padding_mask=dougong.tensor(padding.T.copy()))


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_query_that_may_look_nowhere_gives_the_bias_and_finite_gradients(need_weights: bool):
    layer = nn.MultiheadAttention(4, 1, batch_first=True)
    nn.init.ones_(layer.out_proj.bias)
    x = dougong.tensor(array(1, 2, 4), requires_grad=True)
    y, _ = layer(x, x, x, key_padding_mask=dougong.tensor([[True, True]]), need_weights=need_weights)
    assert y.tolist() == [[[1.0] * 4] * 2]
    y.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_layout_of_sequences_changes_nothing_else():
    first, second = nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 2)
    second.load_state_dict(first.state_dict())
    x = dougong.tensor(array(3, 4, 8))
    wanted = first(x, x, x)[0]
    moved = x.transpose(0, 1)
    assert dougong.allclose(second(moved, moved, moved)[0].transpose(0, 1), wanted, atol=1e-6)
    assert dougong.allclose(first(x[0], x[0], x[0])[0], wanted[0], atol=1e-6)
    with pytest.raises(ValueError, match="multiple"):
        nn.MultiheadAttention(8, 3)


def norm(x: np.ndarray, layer: nn.LayerNorm) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + layer.eps)
    return scaled * layer.weight.detach().numpy() + layer.bias.detach().numpy()


def feed_forward(x: np.ndarray, layer: Any) -> np.ndarray:
    one, two = ((m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in (layer.linear1, layer.linear2))
    return np.maximum(x @ one[0] + one[1], 0) @ two[0] + two[1]


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_are_residual_blocks_with_norms(norm_first: bool):
    options = {"dim_feedforward": 16, "dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    encoder, decoder = nn.TransformerEncoderLayer(8, 2, **options), nn.TransformerDecoderLayer(8, 2, **options)
    x, memory = array(2, 3, 8), array(2, 5, 8)

    def block(x: np.ndarray, layer_norm: nn.LayerNorm, function: Any) -> np.ndarray:
        return x + function(norm(x, layer_norm)) if norm_first else norm(x + function(x), layer_norm)

    wanted = block(x, encoder.norm1, lambda h: attention(encoder.self_attn, h, h, h)[0])
    wanted = block(wanted, encoder.norm2, lambda h: feed_forward(h, encoder))
    np.testing.assert_allclose(encoder(dougong.tensor(x)).detach().numpy(), wanted, rtol=1e-4, atol=1e-5)
    causal = np.where(np.triu(np.ones((3, 3), bool), 1), -np.inf, 0)
    wanted = block(x, decoder.norm1, lambda h: attention(decoder.self_attn, h, h, h, causal)[0])
    wanted = block(wanted, decoder.norm2, lambda h: attention(decoder.multihead_attn, h, memory, memory)[0])
    wanted = block(wanted, decoder.norm3, lambda h: feed_forward(h, decoder))
    found = decoder(*tensors(x, memory), tgt_is_causal=True).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_stacks_are_copies_of_a_layer_that_learn_apart():
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation=dougong.nn.functional.silu)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
    x = dougong.tensor(array(3, 2, 8))
    wanted = stack.norm(layer(layer(x)))
    assert dougong.allclose(stack(x), wanted, atol=1e-6)
    assert stack.layers[0].linear1.weight is not stack.layers[1].linear1.weight


def test_transformer_is_its_encoder_and_its_decoder():
    dougong.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.1, batch_first=True).eval()
    src, tgt = tensors(array(2, 5, 8), array(2, 3, 8))
    mask = model.generate_square_subsequent_mask(3)
    assert mask.tolist()[0] == [0.0, -np.inf, -np.inf] and mask.tolist()[2] == [0.0, 0.0, 0.0]
    found = model(src, tgt, tgt_mask=mask)
    assert dougong.allclose(found, model.decoder(tgt, model.encoder(src), tgt_is_causal=True), atol=1e-6)
    twin = copy.deepcopy(model)
    assert twin(src, tgt, tgt_mask=mask).tolist() == found.tolist()
    assert pickle.loads(pickle.dumps(model))(src, tgt, tgt_mask=mask).tolist() == found.tolist()
    assert model.train()(src, tgt, tgt_mask=mask).tolist() != found.tolist()
