"""Recurrent cells and layers, against their definitions in NumPy."""

from __future__ import annotations

from typing import Any

import dougong
import numpy as np
import pytest
from dougong import nn

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def weights(model: nn.Module, suffix: str = "") -> list[np.ndarray]:
    return [
        getattr(model, f"{kind}{suffix}").detach().numpy() for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]


def rnn_cell(x: np.ndarray, state: Any, w: list[np.ndarray]) -> Any:
    h = np.tanh(x @ w[0].T + w[2] + state[0] @ w[1].T + w[3])
    return (h,)


def lstm_cell(x: np.ndarray, state: Any, w: list[np.ndarray]) -> Any:
    i, f, g, o = np.split(x @ w[0].T + w[2] + state[0] @ w[1].T + w[3], 4, -1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_cell(x: np.ndarray, state: Any, w: list[np.ndarray]) -> Any:
    ir, iz, in_ = np.split(x @ w[0].T + w[2], 3, -1)
    hr, hz, hn = np.split(state[0] @ w[1].T + w[3], 3, -1)
    r, z = sigmoid(ir + hr), sigmoid(iz + hz)
    return ((1 - z) * np.tanh(in_ + r * hn) + z * state[0],)


KINDS = {"RNN": rnn_cell, "LSTM": lstm_cell, "GRU": gru_cell}


def states(kind: str, *shape: int) -> tuple[np.ndarray, ...]:
    return (array(*shape), array(*shape)) if kind == "LSTM" else (array(*shape),)


def given(state: tuple[np.ndarray, ...]) -> Any:
    found = tuple(map(dougong.tensor, state))
    return found if len(found) == 2 else found[0]


def arrays(state: Any) -> list[np.ndarray]:
    return [part.detach().numpy() for part in (state if isinstance(state, tuple) else (state,))]


@pytest.mark.parametrize("kind", KINDS)
def test_cell_is_its_definition(kind: str):
    cell = getattr(nn, f"{kind}Cell")(4, 6)
    x, state = array(3, 4), states(kind, 3, 6)
    wanted = KINDS[kind](x, state, weights(cell))
    for got, want in zip(arrays(cell(dougong.tensor(x), given(state))), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    zeros = tuple(np.zeros((6,), np.float32) for _ in state)
    wanted = KINDS[kind](x[0], zeros, weights(cell))
    np.testing.assert_allclose(arrays(cell(dougong.tensor(x[0])))[0], wanted[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers_run_their_cell_over_the_sequence(kind: str, bidirectional: bool):
    model = getattr(nn, kind)(4, 6, num_layers=2, bidirectional=bidirectional)
    suffixes = ["", "_reverse"][: 1 + bidirectional]
    x, begin = array(5, 3, 4), states(kind, 2 * len(suffixes), 3, 6)
    output, end = model(dougong.tensor(x), given(begin))
    wanted_ends = []
    for layer in range(2):
        outputs = []
        for suffix in suffixes:
            state, outs = tuple(s[len(wanted_ends)] for s in begin), [None] * 5
            for step in reversed(range(5)) if suffix else range(5):
                state = KINDS[kind](x[step], state, weights(model, f"_l{layer}{suffix}"))
                outs[step] = state[0]
            outputs.append(np.stack(outs))
            wanted_ends.append(state)
        x = np.concatenate(outputs, -1)
    np.testing.assert_allclose(output.detach().numpy(), x, rtol=1e-4, atol=1e-5)
    for got, want in zip(arrays(end), map(np.stack, zip(*wanted_ends, strict=True)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_layout_of_sequences_changes_nothing_else(kind: str):
    model = getattr(nn, kind)(4, 6, batch_first=True)
    x = dougong.tensor(array(3, 5, 4))
    output, end = model(x)
    single, last = model(x[1])
    assert output.shape == (3, 5, 6) and dougong.allclose(single, output[1], atol=1e-6)
    assert arrays(end)[0].shape == (1, 3, 6) and arrays(last)[0].shape == (1, 6)
    np.testing.assert_allclose(arrays(end)[0][0], output[:, -1].detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_through_time_is_that_of_finite_differences(kind: str):
    model = getattr(nn, kind)(2, 3, dtype=dougong.float64)
    x = dougong.tensor(RNG.standard_normal((4, 2, 2)))

    def loss() -> dougong.Tensor:
        return (model(x)[0] ** 2).sum()

    loss().backward()
    for parameter in model.parameters():
        value, flat = parameter.data.numpy(), parameter.grad.numpy().reshape(-1)
        for place in (0, flat.size - 1):
            with dougong.no_grad():
                at, values = value.reshape(-1)[place].item(), []
                for step in (1e-5, -1e-5):
                    value.reshape(-1)[place] = at + step
                    values.append(loss().item())
                value.reshape(-1)[place] = at
            np.testing.assert_allclose(flat[place], (values[0] - values[1]) / 2e-5, rtol=1e-5, atol=1e-8)


def test_dropout_acts_between_layers_only_and_only_while_training():
    model, x = nn.LSTM(4, 6, 2, dropout=0.5), dougong.tensor(array(3, 2, 4))
    assert model(x)[0].tolist() != model(x)[0].tolist()
    assert model.eval()(x)[0].tolist() == model(x)[0].tolist()
    single = nn.GRU(4, 6, dropout=0.5)
    assert single(x)[0].tolist() == single(x)[0].tolist()


def test_what_does_not_fit_is_refused():
    model, x = nn.LSTM(4, 6), dougong.zeros(5, 3, 4)
    with pytest.raises(dougong.InvalidArgumentError, match=r"shape \(1, 3, 6\); found \(3, 6\)"):
        model(x, (dougong.zeros(3, 6), dougong.zeros(3, 6)))
    with pytest.raises(TypeError, match="pair"):
        model(x, dougong.zeros(1, 3, 6))
    with pytest.raises(dougong.InvalidArgumentError, match="4 features"):
        model(dougong.zeros(5, 3, 5))
    with pytest.raises(ValueError, match="nonlinearity"):
        nn.RNN(4, 6, nonlinearity="gelu")


def test_parts_and_their_gradients_of_any_order():
    from dougong.nn.functional._recurrent import parts, steps

    x = dougong.tensor(array(4, 6), requires_grad=True)
    first, _, third = parts(x, 3, -1)
    (first * third).sum().backward()
    values = x.detach().numpy()
    np.testing.assert_array_equal(x.grad.numpy()[:, :2], values[:, 4:])
    np.testing.assert_array_equal(x.grad.numpy()[:, 2:4], 0)
    (grad,) = dougong.autograd.grad((steps(x)[1] ** 3).sum(), x, create_graph=True)
    (second,) = dougong.autograd.grad(grad.sum(), x)
    np.testing.assert_allclose(second.numpy()[1], 6 * values[1], rtol=1e-6)
    assert not second.numpy()[0].any()
