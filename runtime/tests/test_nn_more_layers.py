"""Activations, dropout of channels, and layers that compare, combine or rearrange: values from their definitions."""

from __future__ import annotations

import math

import dougong
import numpy as np
import pytest
from dougong import nn
from dougong.nn import functional as F

X = np.linspace(-7, 7, 29).astype(np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(x))


FORMULAS = {
    nn.ReLU: lambda x: np.maximum(x, 0),
    nn.ReLU6: lambda x: np.clip(x, 0, 6),
    nn.Sigmoid: sigmoid,
    nn.Tanh: np.tanh,
    nn.LogSigmoid: lambda x: -softplus(-x),
    nn.SELU: lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    nn.SiLU: lambda x: x * sigmoid(x),
    nn.Mish: lambda x: x * np.tanh(softplus(x)),
    nn.Softsign: lambda x: x / (1 + np.abs(x)),
    nn.Tanhshrink: lambda x: x - np.tanh(x),
    nn.Hardsigmoid: lambda x: np.clip(x + 3, 0, 6) / 6,
    nn.Hardswish: lambda x: x * np.clip(x + 3, 0, 6) / 6,
    nn.GELU: lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    nn.LeakyReLU: lambda x: np.where(x > 0, x, 0.01 * x),
    nn.ELU: lambda x: np.where(x > 0, x, np.expm1(x)),
    nn.CELU: lambda x: np.where(x > 0, x, np.expm1(x)),
    nn.Softplus: softplus,
    nn.Hardtanh: lambda x: np.clip(x, -1, 1),
    nn.Hardshrink: lambda x: np.where(np.abs(x) > 0.5, x, 0),
    nn.Softshrink: lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
    nn.PReLU: lambda x: np.where(x > 0, x, 0.25 * x),
    nn.Softmax: lambda x: np.exp(x) / np.exp(x).sum(),
    nn.LogSoftmax: lambda x: x - np.log(np.exp(x).sum()),
    nn.Softmin: lambda x: np.exp(-x) / np.exp(-x).sum(),
}


def test_every_activation_has_a_formula_here():
    tested_elsewhere = {"GLU", "Threshold"}
    assert {cls.__name__ for cls in FORMULAS} == set(nn._activations.__all__) - tested_elsewhere


@pytest.mark.parametrize("cls", FORMULAS, ids=lambda cls: cls.__name__)
def test_activation_is_its_formula(cls: type):
    wanted = FORMULAS[cls](X.astype(np.float64))
    np.testing.assert_allclose(cls()(dougong.tensor(X)).detach().numpy(), wanted, rtol=2e-6, atol=1e-6)


def test_activations_take_their_constants():
    x = dougong.tensor([-2.0, -0.5, 0.0, 3.0])
    assert nn.LeakyReLU(0.5)(x).tolist() == [-1.0, -0.25, 0.0, 3.0]
    assert nn.Hardtanh(-1.0, max_val=2.0)(x).tolist() == [-1.0, -0.5, 0.0, 2.0]
    assert nn.Threshold(-0.5, 9.0)(x).tolist() == [9.0, 9.0, 0.0, 3.0]
    assert nn.Hardshrink(lambd=2.0)(x).tolist() == [0.0, 0.0, 0.0, 3.0]
    assert nn.Softshrink(1.0)(x).tolist() == [-1.0, 0.0, 0.0, 2.0]
    np.testing.assert_allclose(nn.CELU(2.0)(x).tolist()[0], 2 * math.expm1(-1), rtol=1e-6)
    np.testing.assert_allclose(nn.Softplus(2.0)(x).tolist()[3], math.log1p(math.exp(6)) / 2, rtol=1e-6)
    assert repr(nn.ELU(alpha=0.5)) == "ELU(alpha=0.5)"
    assert nn.LeakyReLU(0.5, True)(x).tolist()[0] == -1.0 and nn.ReLU(inplace=True)(x).tolist()[0] == 0.0
    assert nn.Dropout(0.0, True)(x) is x and x.tolist()[0] == -2.0
    for wrong in (
        lambda: nn.Threshold(1.0),
        lambda: nn.Tanh(3),
        lambda: nn.ELU(slope=1.0),
        lambda: nn.ELU(1.0, True, 2),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_prelu_has_a_slope_for_each_channel():
    layer = nn.PReLU(2)
    with dougong.no_grad():
        layer.weight.copy_(dougong.tensor([0.5, 2.0]))
    x = dougong.tensor([[[-1.0, 1.0], [-1.0, 3.0]]])
    y = layer(x)
    assert y.tolist() == [[[-0.5, 1.0], [-2.0, 3.0]]]
    y.sum().backward()
    assert layer.weight.grad.tolist() == [-1.0, -1.0]
    with pytest.raises(dougong.InvalidArgumentError, match="3 channels"):
        layer(dougong.zeros(1, 3))


def test_glu_gates_the_first_half_with_the_second():
    y = nn.GLU(0)(dougong.tensor([[2.0, 4.0], [0.0, 0.0]]))
    assert y.tolist() == [[1.0, 2.0]]
    with pytest.raises(dougong.InvalidArgumentError, match="even"):
        nn.GLU()(dougong.zeros(3))


@pytest.mark.parametrize(
    ("layer", "shape"), [(nn.Dropout1d, (40, 5, 7)), (nn.Dropout2d, (40, 5, 3, 4)), (nn.Dropout3d, (40, 5, 2, 2, 2))]
)
def test_channel_dropout_drops_whole_channels(layer: type, shape: tuple[int, ...]):
    dougong.manual_seed(1)
    drop = layer(0.25)
    y = drop(dougong.ones(shape)).numpy().reshape(200, -1)
    assert (y == y[:, :1]).all() and set(np.unique(y)) == {0.0, np.float32(1 / 0.75)}
    assert 0.15 < (y[:, 0] == 0).mean() < 0.35
    assert drop(dougong.ones(shape[1:])).shape == shape[1:]
    assert (drop.eval()(dougong.ones(shape)).numpy() == 1).all()
    with pytest.raises(ValueError, match="axes"):
        drop(dougong.zeros(3))


def test_alpha_dropout_keeps_mean_and_variance():
    dougong.manual_seed(0)
    y = nn.AlphaDropout(0.3)(dougong.randn(200, 500)).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02


def test_bilinear_is_its_sum():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 5, 3)).astype(np.float32), rng.standard_normal((2, 5, 4)).astype(np.float32)
    layer = nn.Bilinear(3, 4, 6)
    wanted = np.einsum("abi,kij,abj->abk", x, layer.weight.detach().numpy(), y) + layer.bias.detach().numpy()
    found = layer(dougong.tensor(x), dougong.tensor(y))
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-5, atol=1e-6)
    found.sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy()[0], np.einsum("abi,abj->ij", x, y), rtol=1e-4, atol=1e-5)


def test_pixel_shuffle_moves_channels_into_pixels_and_back():
    x = dougong.arange(8).reshape(1, 8, 1, 1)
    y = nn.PixelShuffle(2)(x)
    assert y.tolist() == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]
    assert nn.PixelUnshuffle(2)(y).tolist() == x.tolist()
    with pytest.raises(dougong.InvalidArgumentError, match="multiple"):
        F.pixel_shuffle(x, 3)


def test_unflatten_cosine_similarity_and_normalize():
    assert nn.Unflatten(1, (2, 3))(dougong.zeros(4, 6, 5)).shape == (4, 2, 3, 5)
    a, b = dougong.tensor([[3.0, 4.0], [0.0, 0.0]]), dougong.tensor([[4.0, 3.0], [1.0, 0.0]])
    np.testing.assert_allclose(nn.CosineSimilarity()(a, b).tolist(), [0.96, 0.0], rtol=1e-6)
    np.testing.assert_allclose(F.normalize(a).tolist(), [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_combines_each_bag_of_rows(mode: str):
    table = np.arange(8, dtype=np.float32).reshape(4, 2) - 3
    bags = [[1, 2, 2], [], [3, 0]]
    combine = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    wanted = [combine(table[bag], axis=0) if bag else np.zeros(2) for bag in bags]
    layer = nn.EmbeddingBag(4, 2, mode)
    layer.load_state_dict({"weight": dougong.tensor(table)})
    found = layer(dougong.tensor([1, 2, 2, 3, 0]), dougong.tensor([0, 3, 3]))
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-6)
    found.sum().backward()
    assert layer.weight.grad.numpy()[0].any() == (mode != "max")


def test_embedding_bag_weighs_rows_and_leaves_out_the_padding():
    table = dougong.tensor([[1.0], [10.0], [100.0]])
    index, weights = dougong.tensor([[0, 1], [2, 2]]), dougong.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert F.embedding_bag(index, table, mode="sum", per_sample_weights=weights).tolist() == [[21.0], [700.0]]
    assert F.embedding_bag(index, table, mode="mean", padding_idx=1).tolist() == [[1.0], [100.0]]
    assert F.embedding_bag(index, table, mode="max", padding_idx=2).tolist() == [[10.0], [0.0]]
    with pytest.raises(dougong.InvalidArgumentError, match="offsets"):
        F.embedding_bag(dougong.tensor([0, 1]), table, dougong.tensor([0, 5]))


def test_parameter_list_and_dict_are_parts_of_their_module():
    model = nn.Module()
    model.list = nn.ParameterList([dougong.zeros(2), nn.Parameter(dougong.ones(3))])
    model.dict = nn.ParameterDict({"a": dougong.zeros(1)})
    model.list.append(dougong.zeros(4))
    model.dict["b"] = dougong.ones(5)
    assert [name for name, _ in model.named_parameters()] == ["list.0", "list.1", "list.2", "dict.a", "dict.b"]
    assert [p.numel() for p in model.list[1:]] == [3, 4] and model.list[-1].shape == (4,)
    assert list(model.dict) == ["a", "b"] and "a" in model.dict and len(model.dict) == 2
    del model.dict["a"]
    with pytest.raises(IndexError, match="3 parameters"):
        model.list[3]


def test_containers_take_and_give_modules_at_any_place():
    model = nn.Sequential(nn.Tanh(), nn.ReLU())
    model.insert(1, nn.Identity())
    assert [type(m).__name__ for m in model] == ["Tanh", "Identity", "ReLU"]
    assert isinstance(model.pop(0), nn.Tanh) and [name for name, _ in model.named_children()] == ["0", "1"]
    named = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})
    assert isinstance(named.pop("a"), nn.Tanh) and list(named) == ["b"]
    named.clear()
    assert len(named) == 0


def test_an_embedding_is_made_of_a_table():
    table = dougong.tensor([[1.0, 2.0], [3.0, 4.0]])
    frozen, trained = nn.Embedding.from_pretrained(table), nn.Embedding.from_pretrained(table, False, padding_idx=-1)
    assert frozen(dougong.tensor([1])).tolist() == [[3.0, 4.0]] and not frozen.weight.requires_grad
    assert trained.weight.requires_grad and trained.padding_idx == 1 and trained.weight.data_ptr() == table.data_ptr()
    assert repr(frozen) == "Embedding(2, 2)"
