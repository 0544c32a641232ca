"""Parameters that are computed from others."""

from __future__ import annotations

import copy

import dougong
import numpy as np
import pytest
from dougong import nn
from dougong.nn.utils import parametrize


class Square(nn.Module):
    def forward(self, x: dougong.Tensor) -> dougong.Tensor:
        return x * x

    def right_inverse(self, value: dougong.Tensor) -> dougong.Tensor:
        return value.sqrt()


class Plus(nn.Module):
    def forward(self, x: dougong.Tensor) -> dougong.Tensor:
        return x + 1


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(dougong.tensor([4.0, 9.0]))

    def forward(self, x: dougong.Tensor) -> dougong.Tensor:
        return x * self.weight


def test_a_parametrized_weight_keeps_its_value_and_trains_its_original():
    layer = Layer()
    parametrize.register_parametrization(layer, "weight", Square())
    assert [name for name, _ in layer.named_parameters()] == ["parametrizations.weight.original"]
    assert layer.weight.tolist() == [4.0, 9.0] and parametrize.is_parametrized(layer, "weight")
    layer(dougong.ones(2)).sum().backward()
    original = layer.parametrizations.weight.original
    assert original.tolist() == [2.0, 3.0] and original.grad.tolist() == [4.0, 6.0]
    layer.weight = dougong.tensor([1.0, 16.0])
    assert original.tolist() == [1.0, 4.0] and layer.weight.tolist() == [1.0, 16.0]


def test_parametrizations_are_chained_copied_saved_and_removed():
    layer = Layer()
    parametrize.register_parametrization(layer, "weight", Square())
    parametrize.register_parametrization(layer, "weight", Plus())
    assert layer.weight.tolist() == [5.0, 10.0]
    with pytest.raises(dougong.UnsupportedError, match="right_inverse"):
        layer.weight = dougong.ones(2)
    twin = copy.deepcopy(layer)
    other = parametrize.register_parametrization(Layer(), "weight", Square())
    other = parametrize.register_parametrization(other, "weight", Plus())
    other.load_state_dict({name: part * 0 for name, part in layer.state_dict().items()})
    assert twin.weight.tolist() == [5.0, 10.0] and other.weight.tolist() == [1.0, 1.0]
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.tolist() == [5.0, 10.0]
    assert [name for name, _ in layer.named_parameters()] == ["weight"] and not parametrize.is_parametrized(layer)
    parametrize.remove_parametrizations(twin, "weight", leave_parametrized=False)
    assert twin.weight.tolist() == [2.0, 3.0]


def test_what_cannot_be_parametrized_is_refused():
    class Half(nn.Module):
        def forward(self, x: dougong.Tensor) -> dougong.Tensor:
            return x[:1]

    layer = Layer()
    with pytest.raises(ValueError, match="no parameter 'bias'"):
        parametrize.register_parametrization(layer, "bias", Square())
    with pytest.raises(ValueError, match="keep the shape"):
        parametrize.register_parametrization(layer, "weight", Half())
    assert [name for name, _ in layer.named_parameters()] == ["weight"]


@pytest.mark.parametrize(("dim", "axes", "lengths"), [(0, (1,), (3, 1)), (1, (0,), (1, 4)), (None, (0, 1), (1, 1))])
def test_weight_norm_is_a_length_times_a_direction(dim, axes, lengths):
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().numpy().copy()
    nn.utils.weight_norm(layer, dim=dim)
    length, direction = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-5)
    assert length.shape == lengths
    with dougong.no_grad():
        length.fill_(2.0)
        direction.mul_(7.0)
    norms = np.sqrt((layer.weight.detach().numpy() ** 2).sum(axes))
    np.testing.assert_allclose(norms, 2.0, rtol=1e-5)
    layer(dougong.ones(1, 4)).sum().backward()
    grad, value = direction.grad.numpy(), direction.detach().numpy()
    np.testing.assert_allclose((grad * value).sum(axes), 0, atol=1e-4)  # a direction has no radial gradient


def test_spectral_norm_brings_the_greatest_singular_value_to_one():
    dougong.manual_seed(0)
    layer = nn.Conv2d(3, 5, 3)
    nn.init.orthogonal_(layer.weight, gain=4.0)
    nn.utils.spectral_norm(layer, n_power_iterations=3)
    for _ in range(5):
        layer(dougong.ones(1, 3, 4, 4))
    matrix = layer.eval().weight.detach().numpy().reshape(5, -1)
    np.testing.assert_allclose(np.linalg.svd(matrix, compute_uv=False)[0], 1.0, rtol=1e-4)
    assert layer.weight.tolist() == layer.weight.tolist()
    assert set(layer.state_dict()) == {"bias", *(f"parametrizations.weight.{n}" for n in ("original", "0._u", "0._v"))}
