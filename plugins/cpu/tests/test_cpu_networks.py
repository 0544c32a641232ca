"""Convolution, pooling, softmax, normalisation, loss and optimiser kernels against their definitions in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from comparing import FLOATS, draw, run_layouts, same_bits, spacing, wide, within_reduction_bound
from cpu_driver import DTYPES, Cpu


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def near(found: np.ndarray, reference: np.ndarray, scale: Any = 1.0, units: float = 8.0) -> None:
    """Within a few roundings of terms as large as `scale`, and NaN where the reference is NaN."""
    dtype = found.dtype.name
    bound = units * (2.0**-53 if dtype == "float64" else 2.0**-24) * scale
    bound = bound + (0.51 if dtype in ("float16", "bfloat16") else 2) * spacing(reference, dtype)
    with np.errstate(invalid="ignore"):
        error = np.abs(wide(found) - reference)
    same = (wide(found) == reference) | (np.isnan(wide(found)) & np.isnan(reference))
    worst = np.where(same, 0, np.where(np.isnan(error), np.inf, error) / bound)
    assert worst.size == 0 or worst.max() <= 1, f"{worst.max():.3g} times the bound at {worst.argmax()}"


# ---- Convolution ----

CONVOLUTIONS = [  # x, weight, stride, padding, dilation, groups
    ((2, 3, 7, 8), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 9, 7), (6, 2, 3, 2), (2, 1), (0, 2), (1, 2), 2),
    ((1, 6, 5, 5), (6, 1, 3, 3), (2, 2), (1, 1), (1, 1), 6),
    ((3, 5, 4, 6), (2, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 4, 6, 6), (4, 2, 1, 1), (2, 2), (1, 0), (1, 1), 2),
    ((2, 8, 1, 1), (16, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 2, 3, 40), (2, 2, 3, 5), (1, 3), (2, 4), (1, 2), 1),
]


def places(case: Any) -> list[tuple[int, int, int, int, slice, slice]]:
    """(i, j, row step...) of each kernel element in the padded image, and the output's size."""
    x, weight, stride, padding, dilation, _ = case
    size = [(x[2 + a] + 2 * padding[a] - dilation[a] * (weight[2 + a] - 1) - 1) // stride[a] + 1 for a in (0, 1)]
    result = []
    for i, j in itertools.product(range(weight[2]), range(weight[3])):
        rows = slice(i * dilation[0], i * dilation[0] + (size[0] - 1) * stride[0] + 1, stride[0])
        columns = slice(j * dilation[1], j * dilation[1] + (size[1] - 1) * stride[1] + 1, stride[1])
        result.append((i, j, *size, rows, columns))
    return result


def convolve(case: Any, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    padding, groups = case[3], case[5]
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    result: Any = 0.0
    for i, j, _, _, rows, columns in places(case):
        part = padded[:, :, rows, columns].reshape(x.shape[0], groups, x.shape[1] // groups, -1)
        kernel = weight[:, :, i, j].reshape(groups, weight.shape[0] // groups, -1)
        result = result + np.einsum("ngcp,goc->ngop", part, kernel)
    out_h, out_w = places(case)[0][2:4]
    return result.reshape(x.shape[0], weight.shape[0], out_h, out_w)


def convolve_backward(case: Any, dy: np.ndarray, x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    padding, groups = case[3], case[5]
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    dpadded, dweight = np.zeros_like(padded), np.zeros_like(weight)
    n, channels = x.shape[:2]
    gradient = dy.reshape(n, groups, weight.shape[0] // groups, -1)
    for i, j, out_h, out_w, rows, columns in places(case):
        part = padded[:, :, rows, columns].reshape(n, groups, channels // groups, -1)
        kernel = weight[:, :, i, j].reshape(groups, weight.shape[0] // groups, -1)
        back = np.einsum("ngop,goc->ngcp", gradient, kernel).reshape(n, channels, out_h, out_w)
        dpadded[:, :, rows, columns] += back
        dweight[:, :, i, j] = np.einsum("ngop,ngcp->goc", gradient, part).reshape(weight.shape[0], -1)
    inner = dpadded[:, :, padding[0] : padding[0] + x.shape[2], padding[1] : padding[1] + x.shape[3]]
    return inner, dweight


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv2d_and_its_gradients(cpu: Cpu, case: Any, dtype: str):
    given = dict(zip(("stride", "padding", "dilation"), map(list, case[2:5]), strict=True), groups=case[5])
    x, weight, bias = draw(case[0], dtype, 1), draw(case[1], dtype, 2), draw(case[1][:1], dtype, 3)
    y = convolve(case, wide(x), wide(weight))
    absolute = convolve(case, np.abs(wide(x)), np.abs(wide(weight)))
    k = weight[0].size + 1
    shifted, larger = y + wide(bias)[:, None, None], absolute + np.abs(wide(bias))[:, None, None]
    output, bound = [(y.shape, x.dtype)], within_reduction_bound
    run_layouts(cpu, "conv2d", [x, weight, None], output, lambda r: bound(r, y, absolute, k), **given)
    run_layouts(cpu, "conv2d", [x, weight, bias], output, lambda r: bound(r, shifted, larger, k), **given)

    dy = draw(y.shape, dtype, 4)
    dx, dweight = convolve_backward(case, wide(dy), wide(x), wide(weight))
    absolute_dx, absolute_dweight = convolve_backward(case, *(np.abs(wide(t)) for t in (dy, x, weight)))
    run_layouts(
        cpu,
        "conv2d_backward_input",
        [dy, weight],
        [(x.shape, x.dtype)],
        lambda r: bound(r, dx, absolute_dx, weight[:, 0].size),
        shape=list(x.shape),
        **given,
    )
    run_layouts(
        cpu,
        "conv2d_backward_weight",
        [dy, x],
        [(weight.shape, x.dtype)],
        lambda r: bound(r, dweight, absolute_dweight, dy[:, 0].size),
        shape=list(weight.shape),
        **given,
    )


def test_convolution_of_an_empty_batch_has_a_zero_weight_gradient(cpu: Cpu):
    dy, x = np.empty((0, 4, 5, 5), "f4"), np.empty((0, 3, 5, 5), "f4")
    given = {"shape": [4, 3, 3, 3], "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1]}
    assert not cpu("conv2d_backward_weight", [dy, x], [((4, 3, 3, 3), "f4")], **given).any()


# ---- Pooling ----


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation",
    [((2, 2), (2, 2), (0, 0), (1, 1)), ((3, 2), (1, 2), (1, 1), (1, 1)), ((2, 3), (2, 1), (0, 1), (2, 2))],
)
def test_max_pool2d_takes_the_first_greatest(
    cpu: Cpu, dtype: str, kernel: Any, stride: Any, padding: Any, dilation: Any
):
    x = np.rint(draw((2, 3, 7, 8), "float64")).astype(DTYPES[dtype][0])  # many ties
    x[0, 0, 2, 3], x[0, 0, 3, 3], x[1] = np.nan, np.nan, np.where(x[1] > 0, x[1], -np.inf)
    size = [(x.shape[2 + a] + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in (0, 1)]
    shape = (2, 3, *size)
    y, indices = np.empty(shape), np.empty(shape, np.int64)
    for n, channel, r, c in np.ndindex(*shape):
        items = []
        for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
            row, column = r * stride[0] - padding[0] + i * dilation[0], c * stride[1] - padding[1] + j * dilation[1]
            if 0 <= row < 7 and 0 <= column < 8:
                items.append((wide(x)[n, channel, row, column], row * 8 + column))
        values = [v for v, _ in items]
        y[n, channel, r, c], indices[n, channel, r, c] = items[int(np.argmax(values))]

    def check(found: np.ndarray, places: np.ndarray) -> None:
        same_bits(found, y.astype(x.dtype))
        same_bits(places, indices)

    given = {"kernel_size": list(kernel), "stride": list(stride), "padding": list(padding), "dilation": list(dilation)}
    run_layouts(cpu, "max_pool2d", [x], [(shape, x.dtype), (shape, np.int64)], check, **given)

    dy, dx = draw(shape, dtype, 5), np.zeros((6, 56))
    for image, windows, places in zip(dx, wide(dy).reshape(6, -1), indices.reshape(6, -1), strict=True):
        np.add.at(image, places, windows)
    run_layouts(
        cpu,
        "max_pool2d_backward",
        [dy, indices],
        [(x.shape, x.dtype)],
        lambda r: within_reduction_bound(r, dx.reshape(x.shape), np.full(x.shape, 18.0), 6),
        shape=list(x.shape),
    )


# ---- Softmax ----


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axis", [((3, 5, 7), 2), ((3, 5, 7), 0), ((2, 1300), 1), ((1300, 3), 0), ((4, 1), 1)])
def test_softmax_and_log_softmax(cpu: Cpu, dtype: str, shape: tuple[int, ...], axis: int):
    x = draw(shape, dtype, low=-9, high=9)
    logs = log_softmax(wide(x), axis)
    output = [(shape, x.dtype)]
    # x - max is rounded, and the exponential makes a relative error of that
    scale = np.exp(logs) * (1 + np.abs(wide(x) - wide(x).max(axis, keepdims=True)))
    units = 16 if dtype == "float64" else 2  # NumPy's own sum errs as well
    run_layouts(cpu, "softmax", [x], output, lambda y: near(y, np.exp(logs), scale, units), axis=axis)
    run_layouts(cpu, "log_softmax", [x], output, lambda y: near(y, logs, 20.0, 2), axis=axis)

    dy, y, log_y = draw(shape, dtype, 2), np.exp(logs).astype(x.dtype), logs.astype(x.dtype)
    dx = wide(y) * (wide(dy) - (wide(dy) * wide(y)).sum(axis, keepdims=True))
    run_layouts(cpu, "softmax_backward", [dy, y], output, lambda r: near(r, dx, 6 * wide(y)), axis=axis)
    total = wide(dy).sum(axis, keepdims=True)
    dx2 = wide(dy) - np.exp(wide(log_y)) * total
    scale = 3 + np.exp(wide(log_y)) * np.abs(total)
    run_layouts(cpu, "log_softmax_backward", [dy, log_y], output, lambda r: near(r, dx2, scale), axis=axis)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax_across_a_large_tensor_equals_softmax_along_it(cpu: Cpu, dtype: str):
    x = draw((70, 33, 40), dtype, low=-9, high=9)
    output = [(x.shape, x.dtype)]
    for axis in (0, 1):
        along = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        y = cpu("softmax", [along], [(along.shape, x.dtype)], axis=2)
        expected = np.moveaxis(y, -1, axis)
        run_layouts(cpu, "softmax", [x], output, lambda r: same_bits(r, expected), axis=axis)  # noqa: B023
        dx = np.moveaxis(cpu("softmax_backward", [along, y], [(along.shape, x.dtype)], axis=2), -1, axis)
        across = [x, np.ascontiguousarray(expected)]
        run_layouts(cpu, "softmax_backward", across, output, lambda r: same_bits(r, dx), axis=axis)  # noqa: B023


def test_softmax_of_infinities(cpu: Cpu):
    inf = np.inf
    x = np.array([[0, -inf, 0], [-inf, -inf, -inf], [1, np.nan, 2], [-inf, 3, -inf]], "f4")
    nan = np.nan
    same_bits(
        cpu("softmax", [x], [(x.shape, "f4")], axis=1),
        np.array([[0.5, 0, 0.5], [nan] * 3, [nan] * 3, [0, 1, 0]], "f4"),
    )
    found = cpu("log_softmax", [np.array([-inf, 0], "f4")], [((2,), "f4")], axis=0)
    same_bits(found, np.array([-inf, 0], "f4"))
    assert cpu("softmax", [np.array(3.0, "f4")], [((), "f4")], axis=0) == 1


# ---- Normalisation ----


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, axes", [((4, 33), 1), ((3, 4, 5), 2), ((2, 1500), 1), ((2, 3, 4), 3)])
def test_layer_norm_and_its_gradients(cpu: Cpu, dtype: str, shape: tuple[int, ...], axes: int):
    x = (draw(shape, "float64") + (500.0 if dtype in ("float32", "float64") else 1.0)).astype(DTYPES[dtype][0])
    inner, outer = shape[len(shape) - axes :], shape[: len(shape) - axes]
    accumulator = np.dtype(np.float64 if dtype == "float64" else np.float32)
    weight, bias, dy = draw(inner, dtype, 1), draw(inner, dtype, 2), draw(shape, dtype, 3)
    last = tuple(range(-axes, 0))
    exact = wide(x).astype(np.longdouble)
    mean = exact.mean(last, keepdims=True)
    rstd = 1 / np.sqrt(((exact - mean) ** 2).mean(last, keepdims=True) + 1e-5)
    normal = ((exact - mean) * rstd).astype(np.float64)
    mean, rstd = mean.astype(np.float64), rstd.astype(np.float64)
    for w, b in itertools.product((None, weight), (None, bias)):
        expected = normal * (1 if w is None else wide(w)) + (0 if b is None else wide(b))

        def check(y: np.ndarray, m: np.ndarray, r: np.ndarray, expected: np.ndarray = expected) -> None:
            # a great mean costs float64 digits; float32 kernels take it in float64, so that it costs none
            near(y, expected, 10.0 + (np.abs(mean * rstd) if dtype == "float64" else 0.0))
            near(m, mean.reshape(outer), np.abs(mean.reshape(outer)), 2)
            near(r, rstd.reshape(outer), rstd.reshape(outer), 4 if accumulator == np.float32 else 2000)

        run_layouts(
            cpu,
            "layer_norm",
            [x, w, b],
            [(shape, x.dtype), (outer, accumulator), (outer, accumulator)],
            check,
            axes=axes,
            epsilon=1e-5,
        )

    m, r = mean.reshape(outer).astype(accumulator), rstd.reshape(outer).astype(accumulator)
    given_normal = (wide(x) - wide(m).reshape(mean.shape)) * wide(r).reshape(rstd.shape)
    first = tuple(range(len(outer)))
    for w in (None, weight):
        g = wide(dy) * (1 if w is None else wide(w))
        dx = wide(r).reshape(rstd.shape) * (
            g - g.mean(last, keepdims=True) - given_normal * (g * given_normal).mean(last, keepdims=True)
        )

        def check_gradients(a: np.ndarray, dw: np.ndarray, db: np.ndarray, dx: np.ndarray = dx) -> None:
            near(a, dx, 60.0)
            near(dw, (wide(dy) * given_normal).sum(first), 20.0)
            near(db, wide(dy).sum(first), 20.0)

        run_layouts(
            cpu,
            "layer_norm_backward",
            [dy, x, w, m, r],
            [(shape, x.dtype), (inner, x.dtype), (inner, x.dtype)],
            check_gradients,
            axes=axes,
        )


# ---- Loss ----


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_cross_entropy_and_its_gradient(cpu: Cpu, dtype: str, reduction: str, weighted: bool, smoothing: float):
    x, target = draw((6, 5), dtype, low=-4), np.array([0, 4, -100, 2, 4, 2], np.int32)
    weight = np.abs(draw((5,), dtype, 1)) if weighted else None
    w, logs = wide(weight) if weighted else np.ones(5), log_softmax(wide(x), 1)
    kept = target != -100
    one_hot = np.eye(5)[np.where(kept, target, 0)] * kept[:, None]
    mixture = ((1 - smoothing) * one_hot + smoothing / 5 * kept[:, None]) * w
    losses = -(mixture * logs).sum(1)
    divisor = {"none": 1.0, "sum": 1.0, "mean": (one_hot * w).sum()}[reduction]
    expected = losses if reduction == "none" else np.asarray(losses.sum() / divisor)
    given = {"reduction": reduction, "ignore_index": -100, "label_smoothing": smoothing}
    inputs, output = [x, target, weight], [(expected.shape, x.dtype)]
    run_layouts(cpu, "cross_entropy", inputs, output, lambda y: near(y, expected, 60.0, 2), **given)
    dy = np.asarray(np.abs(draw(expected.shape, dtype, 7)))
    scale = wide(dy).reshape(-1, 1) if reduction == "none" else wide(dy)
    dx = scale / divisor * (np.exp(logs) * mixture.sum(1, keepdims=True) - mixture)
    inputs, output = [dy, x, target, weight], [(x.shape, x.dtype)]
    run_layouts(cpu, "cross_entropy_backward", inputs, output, lambda r: near(r, dx, 20.0), **given)


def test_the_ignored_class_is_recognised_before_the_range_is_checked(cpu: Cpu):
    x, target = np.zeros((2, 3), "f4"), np.array([77, 1])
    loss = cpu("cross_entropy", [x, target, None], [((2,), "f4")], reduction="none", ignore_index=77)
    near(loss, np.array([0, np.log(3)]))
    assert np.isnan(cpu("cross_entropy", [x[:1], target[:1], None], [((), "f4")], reduction="mean", ignore_index=77))


# ---- Optimisers ----


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "momentum, dampening, nesterov, first", [(0, 0, 0, 0), (0.9, 0, 1, 0), (0.9, 0.2, 0, 0), (0.9, 0.2, 0, 1)]
)
def test_sgd(cpu: Cpu, dtype: str, maximize: bool, momentum: float, dampening: float, nesterov: int, first: int):
    p, g, b = (draw((3, 700), dtype, i) for i in range(3))
    buffer = b if momentum else None
    given = {"lr": 0.1, "momentum": momentum, "dampening": dampening, "weight_decay": 0.01, "nesterov": nesterov}
    step = wide(g) * (-1 if maximize else 1) + 0.01 * wide(p)
    new_buffer = step if first else momentum * wide(b) + (1 - dampening) * step
    if momentum:
        step = step + momentum * new_buffer if nesterov else new_buffer
    expected = wide(p) - 0.1 * step
    for copy in (p.copy(), np.asfortranarray(p)):
        moved = None if buffer is None else buffer.copy()
        cpu("sgd", [copy, g, moved], [copy, moved], maximize=maximize, first_step=first, **given)
        near(copy, expected, 6.0, 2)
        if moved is not None:
            near(moved, new_buffer, 6.0, 2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("decoupled", [True, False])
@pytest.mark.parametrize("maximize", [False, True])
def test_adamw(cpu: Cpu, dtype: str, decoupled: bool, maximize: bool):
    p, g, m, v = (draw((3, 700), dtype, i) for i in range(4))
    v = np.abs(v)
    for step in (1, 7):
        gradient = wide(g) * (-1 if maximize else 1) + (0 if decoupled else 0.01 * wide(p))
        mean, square = 0.9 * wide(m) + 0.1 * gradient, 0.999 * wide(v) + 0.001 * gradient**2
        kept = wide(p) * (1 - 0.05 * 0.01) if decoupled else wide(p)
        denominator = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        expected = kept - 0.05 * (mean / (1 - 0.9**step)) / denominator
        state = [p.copy(), m.copy(), v.copy()]
        given = {"lr": 0.05, "step": step, "decoupled": decoupled, "maximize": maximize}
        cpu("adamw", [state[0], g, state[1], state[2]], state, **given)
        near(state[0], expected, 6.0 + np.abs(0.05 * 8 * mean / denominator), 4)
        near(state[1], mean, 6.0, 2)
        near(state[2], square, 6.0, 2)
