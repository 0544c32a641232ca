"""Gradients of whole compositions, and of gradients, against central differences of fourth order in float64.

The gradient of each single op is asked by the judge's level grad.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import dougong
import numpy as np
import pytest
from dougong import autograd, nn
from dougong.nn import functional as F

STEP, LIMIT = 1e-3, 1e-8


def leaf(*shape: int, seed: int = 0, low: float = 0.3) -> dougong.Tensor:
    """Distinct values away from zero and from each other."""
    rng = np.random.default_rng(seed)
    count = math.prod(shape)
    values = low + 1.5 * (np.arange(count) + 0.5) / max(count, 1)
    signs = rng.choice([-1.0, 1.0], count) if low > 0 else 1.0
    return dougong.tensor(rng.permutation(values * signs).reshape(shape), requires_grad=True)


def positive(*shape: int, seed: int = 0) -> dougong.Tensor:
    return dougong.tensor(np.abs(leaf(*shape, seed=seed).detach().numpy()), requires_grad=True)


def check(function: Callable[..., dougong.Tensor], *leaves: dougong.Tensor) -> None:
    """The derivative of a random weighting of the outputs in a random direction, for each leaf."""
    rng = np.random.default_rng(99)
    weights = dougong.tensor(rng.uniform(-1, 1, function(*leaves).shape))
    found = autograd.grad((function(*leaves) * weights).sum(), leaves)
    for position, (gradient, x) in enumerate(zip(found, leaves, strict=True)):
        direction = rng.uniform(-1, 1, x.shape)
        difference, scale = differences(function, leaves, position, direction, weights)
        inner = float((gradient.numpy() * direction).sum())
        scale += float(np.abs(gradient.numpy() * direction).sum())
        assert gradient.shape == x.shape
        assert abs(inner - difference) <= LIMIT * scale, f"leaf {position}: {inner} against {difference}"


def differences(
    function: Callable[..., dougong.Tensor],
    leaves: Sequence[dougong.Tensor],
    position: int,
    direction: np.ndarray,
    weights: dougong.Tensor,
) -> tuple[float, float]:
    def at(length: float) -> float:
        moved = [x.detach().clone() for x in leaves]
        moved[position] = moved[position] + dougong.tensor(length * direction)
        values = (function(*[m.requires_grad_() for m in moved]) * weights).detach()
        scales.append(float(values.abs().sum()))
        return float(values.sum())

    scales: list[float] = []
    value = (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)
    return value, scales[0]


# -- compositions --------------------------------------------------------------------------------------------------


def test_multi_layer_perceptron_with_every_activation():
    for activation in (F.sigmoid, F.tanh, F.gelu, lambda x: F.gelu(x, "tanh"), F.relu):
        check(
            lambda x, w, b, v, f=activation: F.linear(f(F.linear(x, w, b)), v),
            *(leaf(3, 4), leaf(5, 4, seed=1), leaf(5, seed=2), leaf(2, 5, seed=3)),
        )


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2, "stride": 2}, {"groups": 4}],
    ids=str,
)
def test_convolution(options):
    groups = options.get("groups", 1)
    check(
        lambda x, w, b: F.conv2d(x, w, b, **options).tanh(),
        *(leaf(2, 4, 7, 7), leaf(8, 4 // groups, 3, 3, seed=1), leaf(8, seed=2)),
    )


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"padding": 1}, {"stride": 1, "dilation": 2}], ids=str)
def test_pooling_of_overlapping_and_padded_windows(options):
    """The values are further apart than any step of the differences, so that no window changes its mind."""
    check(lambda x: F.max_pool2d(x, 2, **options) ** 2, leaf(1, 2, 5, 5))


def test_convolution_with_one_pixel_and_transposed_memory():
    """Where the layout cannot be told from the strides: a one by one image, and weights that are a view."""
    check(lambda x, w: F.conv2d(x, w, padding=1), leaf(8, 16, 1, 1), leaf(16, 16, 3, 3, seed=1))
    check(
        lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1),
        *(leaf(2, 5, 6, 4), leaf(3, 3, 4, 6, seed=1)),
    )


def test_attention_with_a_mask_and_layer_norm():
    keep = dougong.tensor(np.tril(np.ones((4, 4), bool)) & (np.arange(4) != 2)[:, None])

    def function(q, k, v, w, b):
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return F.layer_norm(out + q, (3,), w, b)

    check(function, *(leaf(2, 4, 3, seed=i) for i in range(3)), leaf(3, seed=3), leaf(3, seed=4))


def test_embedding_with_repeated_rows_and_cross_entropy():
    index, target = dougong.tensor([[0, 2, 2], [1, 0, 2]]), dougong.tensor([1, 3, -100, 0, 2, 1])
    check(
        lambda table, w: F.cross_entropy(
            F.linear(F.embedding(index, table), w).reshape(6, 4), target, label_smoothing=0.1
        ),
        *(leaf(4, 3), leaf(4, 3, seed=1)),
    )


def test_reductions_over_broadcast_and_permuted_operands():
    def function(x, y):
        z = x.T.unsqueeze(0) * y[:, ::2, None]
        return z.var(1) + z.max(2)[:, :1] * z.mean() + z.sum((0, 1)).exp() / 100 - z.std()

    check(function, leaf(3, 4), leaf(2, 8, seed=1))


def test_gather_scatter_where_and_cat():
    index = dougong.tensor([[0, 1, 1], [2, 0, 2]])

    def function(x, s):
        picked = x.gather(index, 1)
        added = dougong.scatter(x, index, s, 1, "add")
        return dougong.cat([dougong.where(picked > 0, picked * s, s), added, dougong.pad(x, [0, 1, -1, 1])[:2]], 0)

    check(function, leaf(2, 3), leaf(2, 3, seed=1))


def test_division_power_and_square_roots():
    check(
        lambda a, b: a**b + dougong.sqrt(a) / dougong.rsqrt(b) + dougong.log(a * b) - abs(a - 5) + 2**a,
        *(positive(3, 1), positive(1, 4, seed=1)),
    )


def test_parameter_that_is_used_twice_gets_both_gradients():
    model = nn.Linear(3, 3).double()
    x = leaf(2, 3)
    check(lambda x, w: F.linear(F.linear(x, w).tanh(), w), x, model.weight)


# -- gradients of gradients ----------------------------------------------------------------------------------------

TWICE = {
    "mul": lambda x: x * x * x,
    "div": lambda x: 1 / x,
    "pow": lambda x: x**3,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "erf": lambda x: x.erf(),
    "relu": lambda x: x.relu() * x,
    "matmul": lambda x: (x @ x.T) @ x,
    "var": lambda x: x.var(1),
    "mean": lambda x: (x * x).mean(0),
    "max": lambda x: x.max(1) * x.sum(1),
    "maximum": lambda x: dougong.maximum(x * x, x),
    "where": lambda x: dougong.where(x > 1, x * x, x),
    "cat": lambda x: dougong.cat([x * x, x], 0),
    "views": lambda x: x.T[1:, ::-1].reshape(-1) ** 2,
    "embedding": lambda x: x[dougong.tensor([0, 2, 0])] ** 2,
    "gather": lambda x: x.gather(dougong.tensor([[0, 0], [1, 1], [0, 1]]), 1) ** 2,
    "conv2d": lambda x: F.conv2d(x.reshape(1, 1, 3, 3), (x * x)[:2, :2].reshape(1, 1, 2, 2)),
    "gelu": lambda x: F.gelu(x) ** 2,
    "softmax": lambda x: F.softmax(x) ** 2,
    "log_softmax": lambda x: F.log_softmax(x) ** 2,
    "layer_norm": lambda x: F.layer_norm(x, (3,), x[0], x[1]) ** 2,
    "cross_entropy": lambda x: F.cross_entropy(x, dougong.tensor([0, 2, 1])) ** 2,
}


@pytest.mark.parametrize("name", TWICE)
def test_gradient_of_a_gradient(name):
    def first(x):
        (gradient,) = autograd.grad((TWICE[name](x)).sum(), x, create_graph=True)
        return gradient

    check(first, positive(3, 3))


def test_pools_have_gradients_of_their_gradients():
    def first(x):
        (gradient,) = autograd.grad((F.max_pool2d(x, 2, stride=1) ** 3).sum(), x, create_graph=True)
        return gradient

    check(first, leaf(1, 1, 4, 4))
