"""Layers that normalise: their definitions, their running statistics, what they refuse."""

from __future__ import annotations

import dougong
import numpy as np
import pytest
from dougong import nn
from dougong.nn import functional

IMAGES = np.random.default_rng(0).normal(2, 3, size=(4, 6, 3, 5))


def standardised(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_batch_norm_standardises_each_channel_while_training() -> None:
    layer = nn.BatchNorm2d(6, dtype=dougong.float64)
    found = layer(dougong.tensor(IMAGES)).detach().numpy()
    np.testing.assert_allclose(found, standardised(IMAGES, (0, 2, 3)), rtol=1e-12)


def test_batch_norm_moves_its_running_statistics_and_uses_them_in_evaluation() -> None:
    layer = nn.BatchNorm2d(6, momentum=0.25, dtype=dougong.float64)
    layer(dougong.tensor(IMAGES))
    mean, var = 0.25 * IMAGES.mean((0, 2, 3)), 0.75 + 0.25 * IMAGES.var((0, 2, 3), ddof=1)
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-12)
    layer.eval()
    found = layer(dougong.tensor(IMAGES)).detach().numpy()
    wanted = (IMAGES - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert layer.num_batches_tracked.item() == 1, "evaluation is no batch of training"


def test_batch_norm_without_momentum_averages_all_batches() -> None:
    layer, batches = nn.BatchNorm1d(3, momentum=None, dtype=dougong.float64), IMAGES.reshape(3, 40, 3)
    for batch in batches:
        layer(dougong.tensor(batch))
    np.testing.assert_allclose(layer.running_mean.numpy(), batches.mean((0, 1)), rtol=1e-12)


def test_batch_norm_without_running_statistics_always_uses_the_batch() -> None:
    layer = nn.BatchNorm2d(6, track_running_stats=False, affine=False).eval()
    found = layer(dougong.tensor(IMAGES)).numpy()
    np.testing.assert_allclose(found, standardised(IMAGES, (0, 2, 3)), rtol=1e-12)
    assert dict(layer.state_dict()) == {}


def test_batch_norm_keeps_its_statistics_in_its_state_with_the_names_of_pytorch() -> None:
    layer, other = nn.BatchNorm3d(2), nn.BatchNorm3d(2)
    assert list(layer.state_dict()) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    layer(dougong.tensor(IMAGES.reshape(3, 2, 3, 4, 5), dtype=dougong.float32))
    other.load_state_dict(layer.state_dict())
    assert other.running_var.tolist() == layer.running_var.tolist()
    assert other.num_batches_tracked.item() == 1
    other.reset_running_stats()
    assert other.running_mean.tolist() == [0, 0] and other.running_var.tolist() == [1, 1]


def test_batch_norm_of_halves_keeps_its_statistics_in_their_dtype() -> None:
    layer = nn.BatchNorm1d(3, dtype=dougong.float16)
    x = dougong.tensor(IMAGES.reshape(-1, 3), dtype=dougong.float16)
    assert layer(x).dtype == layer.running_mean.dtype == dougong.float16
    assert layer.eval()(x).dtype == dougong.float16


def test_running_statistics_have_no_history() -> None:
    layer = nn.BatchNorm1d(3, dtype=dougong.float64)
    layer(dougong.tensor(IMAGES.reshape(-1, 3), requires_grad=True)).sum().backward()
    assert not layer.running_mean.requires_grad and layer.running_mean.grad_fn is None


def test_mean_and_variance_of_batch_norm_have_gradients_of_their_own() -> None:
    x = dougong.tensor([[1.0], [3.0]], dtype=dougong.float64, requires_grad=True)
    _, mean, var = dougong.ops.batch_norm(x)
    (mean * 4 + var).sum().backward()
    assert x.grad.tolist() == [[1.0], [3.0]]  # 4 / 2 + 2 (x - 2) / 2


def test_batch_norm_refuses_to_train_on_one_value_and_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="more than one value"):
        nn.BatchNorm1d(3)(dougong.zeros(1, 3))
    with pytest.raises(ValueError, match="BatchNorm2d takes input with 4 axes"):
        nn.BatchNorm2d(3)(dougong.zeros(2, 3))
    with pytest.raises(ValueError, match="needed when not training"):
        functional.batch_norm(dougong.zeros(2, 3), None, None)


def test_group_norm_standardises_groups_of_channels() -> None:
    layer = nn.GroupNorm(3, 6, dtype=dougong.float64)
    layer.weight.data.copy_(dougong.arange(6))
    found = layer(dougong.tensor(IMAGES)).detach().numpy()
    normal = standardised(IMAGES.reshape(4, 3, -1), (2,)).reshape(IMAGES.shape)
    np.testing.assert_allclose(found, normal * np.arange(6)[:, None, None], rtol=1e-12)
    with pytest.raises(ValueError, match="multiple of num_groups"):
        nn.GroupNorm(4, 6)


def test_instance_norm_standardises_each_image_alone_with_or_without_a_batch() -> None:
    layer = nn.InstanceNorm2d(6)
    found = layer(dougong.tensor(IMAGES)).numpy()
    np.testing.assert_allclose(found, standardised(IMAGES, (2, 3)), rtol=1e-12)
    np.testing.assert_allclose(layer(dougong.tensor(IMAGES[1])).numpy(), found[1], rtol=1e-12)
    with pytest.raises(ValueError, match="more than one element"):
        nn.InstanceNorm1d(6)(dougong.zeros(4, 6, 1))


def test_instance_norm_tracks_the_average_of_its_instances() -> None:
    layer = nn.InstanceNorm2d(6, momentum=0.5, track_running_stats=True, dtype=dougong.float64)
    layer(dougong.tensor(IMAGES))
    mean, var = 0.5 * IMAGES.mean((0, 2, 3)), 0.5 + 0.5 * IMAGES.var((2, 3), ddof=1).mean(0)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-12)
    found = layer.eval()(dougong.tensor(IMAGES)).numpy()
    wanted = (IMAGES - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    x = IMAGES[0, 0]
    layer = nn.RMSNorm(5, dtype=dougong.float64)
    layer.weight.data.copy_(dougong.arange(5))
    wanted = x / np.sqrt((x * x).mean(-1, keepdims=True) + 2.0**-52) * np.arange(5)
    np.testing.assert_allclose(layer(dougong.tensor(x)).detach().numpy(), wanted, rtol=1e-12)
    zeros = nn.RMSNorm(4, elementwise_affine=False)(dougong.zeros(2, 4))
    assert zeros.tolist() == [[0] * 4] * 2, "without eps the smallest step of the dtype is taken, so that 0 stays 0"
