"""Initialisers and the clipping of gradients mean what they mean in PyTorch."""

from __future__ import annotations

import math

import dougong
import numpy as np
import pytest
from dougong import nn


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(array: np.ndarray) -> dougong.Tensor:
    return dougong.tensor(array)


# -- initialisers --------------------------------------------------------------------------------------------------


def test_fans_count_the_window():
    assert nn.init.fan_in_and_fan_out(dougong.empty(8, 3, 5, 2)) == (30, 80)
    with pytest.raises(ValueError, match=r"\(4,\)"):
        nn.init.fan_in_and_fan_out(dougong.empty(4))


@pytest.mark.parametrize(
    ("fill", "bound", "std"),
    [
        (lambda t: nn.init.xavier_uniform_(t), math.sqrt(6 / 700), None),
        (lambda t: nn.init.kaiming_uniform_(t, nonlinearity="relu"), math.sqrt(6 / 400), None),
        (lambda t: nn.init.kaiming_uniform_(t, a=math.sqrt(5)), 1 / math.sqrt(400), None),
        (lambda t: nn.init.uniform_(t, -2, 3), None, 5 / math.sqrt(12)),
        (lambda t: nn.init.normal_(t, 1, 2), None, 2),
        (lambda t: nn.init.xavier_normal_(t, gain=2), None, 2 * math.sqrt(2 / 700)),
        (lambda t: nn.init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), None, math.sqrt(2 / 300)),
    ],
)
def test_initialiser_has_its_bound_or_deviation(fill, bound, std):
    dougong.manual_seed(0)
    x = dougong.empty(300, 400)
    assert fill(x) is x
    values = x.numpy()
    if bound is not None:
        assert 0.99 * bound < np.abs(values).max() <= bound * (1 + 1e-6)
        std = bound / math.sqrt(3)
    assert abs(values.std() / std - 1) < 0.01


def test_constants_and_gain():
    assert nn.init.constant_(dougong.empty(2), 3).tolist() == [3, 3]
    assert nn.init.zeros_(nn.Parameter(dougong.ones(2))).tolist() == [0, 0]
    assert nn.init.calculate_gain("leaky_relu", 1) == 1
    with pytest.raises(ValueError, match="swish"):
        nn.init.calculate_gain("swish")


# -- gradient clipping ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
def test_clip_grad_norm(norm_type):
    parameters = [nn.Parameter(dougong.zeros(2)), nn.Parameter(dougong.zeros(3)), nn.Parameter(dougong.zeros(1))]
    gradients = [random(2), random(3, seed=1)]
    for parameter, gradient in zip(parameters, gradients, strict=False):
        parameter.grad = tensor(gradient)
    norm = np.linalg.norm(np.concatenate(gradients), norm_type)
    assert np.isclose(nn.utils.clip_grad_norm_(parameters, 0.5, norm_type).item(), norm, rtol=1e-5)
    clipped = np.concatenate([p.grad.numpy() for p in parameters[:2]])
    assert np.allclose(clipped, np.concatenate(gradients) * min(0.5 / (norm + 1e-6), 1), rtol=1e-5)
    assert np.isclose(nn.utils.clip_grad_norm_(parameters, 99, norm_type).item(), 0.5, rtol=1e-5)


def test_clip_of_gradients_that_are_not_finite_can_be_an_error():
    parameter = nn.Parameter(dougong.zeros(1))
    parameter.grad = dougong.full((1,), math.nan)
    with pytest.raises(ValueError, match="nan"):
        nn.utils.clip_grad_norm_([parameter], 1.0, error_if_nonfinite=True)


def test_orthogonal_has_orthonormal_rows_or_columns():
    wide, tall = dougong.empty(3, 2, 4), dougong.empty(6, 4)
    rows = nn.init.orthogonal_(wide, gain=2.0).numpy().reshape(3, 8)
    np.testing.assert_allclose(rows @ rows.T, 4 * np.eye(3), atol=1e-5)
    columns = nn.init.orthogonal_(tall).numpy()
    np.testing.assert_allclose(columns.T @ columns, np.eye(4), atol=1e-6)


def test_trunc_normal_stays_within_its_bounds_and_has_the_moments_of_that():
    dougong.manual_seed(3)
    x = nn.init.trunc_normal_(dougong.empty(100_000), mean=0.0, std=2.0, a=-2.0, b=4.0).numpy()
    density = [math.exp(-t * t / 2) / math.sqrt(2 * math.pi) for t in (-1, 2)]
    mass = (math.erf(2 / math.sqrt(2)) + math.erf(1 / math.sqrt(2))) / 2
    assert x.min() >= -2 and x.max() <= 4
    assert abs(x.mean() - 2 * (density[0] - density[1]) / mass) < 0.02
    middle = (math.erf(1 / math.sqrt(2))) / mass
    assert abs((np.abs(x) < 2).mean() - middle) < 0.01
    far = nn.init.trunc_normal_(dougong.empty(10), a=20.0, b=21.0).numpy()
    assert ((far >= 20) & (far <= 21)).all()


def test_eye_dirac_and_sparse_have_their_zeros_and_ones_in_place():
    assert nn.init.eye_(dougong.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    weight = nn.init.dirac_(dougong.empty(4, 2, 3, 3), groups=2)
    x = dougong.randn(1, 4, 5, 5)
    assert nn.functional.conv2d(x, weight, padding=1, groups=2).tolist() == x.tolist()
    sparse = nn.init.sparse_(dougong.empty(10, 3), 0.25).numpy()
    assert ((sparse == 0).sum(0) == 3).all()


def test_gain_of_every_convolution_is_one():
    assert nn.init.calculate_gain("conv1d") == nn.init.calculate_gain("conv_transpose3d") == 1.0


def test_clip_grad_value_brings_every_element_within_the_bounds():
    x = dougong.zeros(3, requires_grad=True)
    untouched = dougong.zeros(1, requires_grad=True)
    (x * dougong.tensor([-5.0, 0.5, 5.0])).sum().backward()
    nn.utils.clip_grad_value_([x, untouched], 1.0)
    assert x.grad.tolist() == [-1.0, 0.5, 1.0] and untouched.grad is None


def test_parameters_go_to_a_vector_and_back():
    parameters = [nn.Parameter(dougong.ones(2, 2)), nn.Parameter(dougong.zeros(3))]
    vector = nn.utils.parameters_to_vector(parameters)
    assert vector.tolist() == [1, 1, 1, 1, 0, 0, 0]
    nn.utils.vector_to_parameters(vector.detach() + 1, parameters)
    assert parameters[0].tolist() == [[2, 2], [2, 2]] and parameters[1].tolist() == [1, 1, 1]
    with pytest.raises(dougong.InvalidArgumentError, match="7 elements"):
        nn.utils.vector_to_parameters(dougong.zeros(8), parameters)
