"""Losses as functions and as modules: reductions, weights, shapes."""

from __future__ import annotations

import dougong
import numpy as np
import pytest
from dougong import nn
from dougong.nn import functional

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(2, 3, 4)), RANDOM.normal(size=(2, 3, 4))
P, Q = RANDOM.uniform(0.1, 0.9, size=(2, 3, 4)), RANDOM.uniform(0.1, 0.9, size=(2, 3, 4))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def entropy(p: np.ndarray, target: np.ndarray) -> np.ndarray:
    return -target * np.log(p) - (1 - target) * np.log(1 - p)


D = np.abs(X - Y)
LOSSES = {
    "mse": (nn.MSELoss, {}, X, Y, D**2),
    "l1": (nn.L1Loss, {}, X, Y, D),
    "huber": (nn.HuberLoss, {"delta": 0.5}, X, Y, np.where(D < 0.5, D**2 / 2, 0.5 * (D - 0.25))),
    "smooth_l1": (nn.SmoothL1Loss, {"beta": 0.5}, X, Y, np.where(D < 0.5, D**2, D - 0.25)),
    "smooth_l1_beta_0": (nn.SmoothL1Loss, {"beta": 0.0}, X, Y, D),
    "bce": (nn.BCELoss, {}, P, Q, entropy(P, Q)),
    "bce_with_logits": (nn.BCEWithLogitsLoss, {}, X, Q, entropy(sigmoid(X), Q)),
    "kl_div": (nn.KLDivLoss, {}, X, P, P * (np.log(P) - X)),
    "kl_div_log_target": (nn.KLDivLoss, {"log_target": True}, X, Y, np.exp(Y) * (Y - X)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_their_definitions_each_averaged_or_summed(name: str) -> None:
    module, arguments, x, y, each = LOSSES[name]
    x, y = dougong.tensor(x), dougong.tensor(y)
    np.testing.assert_allclose(module(**arguments, reduction="none")(x, y).numpy(), each, rtol=1e-12)
    np.testing.assert_allclose(module(**arguments)(x, y).item(), each.mean(), rtol=1e-12)
    np.testing.assert_allclose(module(**arguments, reduction="sum")(x, y).item(), each.sum(), rtol=1e-12)
    with pytest.raises(ValueError, match=r"'mean'.*found 'max'"):
        module(**arguments, reduction="max")(x, y)


def test_kl_div_by_batch_divides_the_sum_by_the_first_axis() -> None:
    found = nn.KLDivLoss(reduction="batchmean")(dougong.tensor(X), dougong.tensor(P))
    np.testing.assert_allclose(found.item(), (P * (np.log(P) - X)).sum() / 2, rtol=1e-12)


@pytest.mark.parametrize("loss", [functional.mse_loss, functional.l1_loss, functional.huber_loss])
def test_losses_warn_where_shapes_broadcast(loss) -> None:
    with pytest.warns(UserWarning, match=r"input has shape \(2, 1\), target \(2,\)"):
        assert loss(dougong.zeros(2, 1), dougong.zeros(2), reduction="none").shape == (2, 2)


def test_binary_cross_entropy_takes_no_other_shape_and_weighs_what_broadcasts() -> None:
    with pytest.raises(ValueError, match="must have the shape of input"):
        nn.BCELoss()(dougong.zeros(2, 1), dougong.zeros(2))
    weight = np.array([1.0, 2.0, 0.5, 3.0])
    found = nn.BCELoss(weight=dougong.tensor(weight), reduction="none")(dougong.tensor(P), dougong.tensor(Q))
    np.testing.assert_allclose(found.numpy(), entropy(P, Q) * weight, rtol=1e-12)


def test_pos_weight_multiplies_the_part_of_the_target() -> None:
    weight = np.array([1.0, 2.0, 0.5, 3.0])
    loss = nn.BCEWithLogitsLoss(pos_weight=dougong.tensor(weight), reduction="none")
    wanted = -weight * Q * np.log(sigmoid(X)) - (1 - Q) * np.log(1 - sigmoid(X))
    np.testing.assert_allclose(loss(dougong.tensor(X), dougong.tensor(Q)).numpy(), wanted, rtol=1e-12)


def test_binary_cross_entropy_stays_finite_at_the_ends() -> None:
    x = dougong.tensor([0.0, 1.0], dtype=dougong.float64, requires_grad=True)
    loss = functional.binary_cross_entropy(x, dougong.tensor([1.0, 0.0], dtype=dougong.float64), reduction="sum")
    loss.backward()
    assert loss.item() == 200
    assert x.grad.tolist() == [-1e12, 1e12]
    z = dougong.tensor([1000.0, -1000.0], requires_grad=True)
    functional.binary_cross_entropy_with_logits(z, dougong.tensor([0.0, 0.0]), reduction="sum").backward()
    assert z.grad.tolist() == [1, 0]


def test_nll_loss_is_cross_entropy_after_log_softmax_for_images_too() -> None:
    target = RANDOM.integers(0, 3, size=(2, 4))
    weight = np.array([1.0, 2.0, 0.5])
    for ignored in (-100, 1):
        logs = dougong.tensor(log_softmax(X, 1))
        loss = nn.NLLLoss(weight=dougong.tensor(weight), ignore_index=ignored)(logs, dougong.tensor(target))
        kept = target != ignored
        each = -np.take_along_axis(log_softmax(X, 1), target[:, None], 1)[:, 0] * weight[target]
        np.testing.assert_allclose(loss.item(), each[kept].sum() / weight[target][kept].sum(), rtol=1e-12)
    assert nn.NLLLoss(reduction="none")(logs, dougong.tensor(target)).shape == (2, 4)
    with pytest.raises(dougong.InvalidArgumentError, match="class indices of shape"):
        nn.NLLLoss()(logs, dougong.tensor(target[0]))


def test_cross_entropy_of_probabilities_averages_over_rows_and_mixes_in_equal_ones() -> None:
    target, weight = P / P.sum(1, keepdims=True), np.array([1.0, 2.0, 0.5])
    loss = nn.CrossEntropyLoss(weight=dougong.tensor(weight), label_smoothing=0.3)
    found = loss(dougong.tensor(X), dougong.tensor(target))
    smooth = (0.7 * target + 0.1) * weight[:, None]
    np.testing.assert_allclose(found.item(), -(smooth * log_softmax(X, 1)).sum(1).mean(), rtol=1e-12)
