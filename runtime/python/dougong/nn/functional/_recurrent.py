"""One step of a recurrent network, from the inputs' and the state's share of the gates."""

from __future__ import annotations

from ... import _core
from ..._core import Tensor
from ._basic import linear

_ops = _core.ops


def _split(gates: Tensor, count: int) -> list[Tensor]:
    size = gates.shape[-1] // count
    return [gates[..., i * size : (i + 1) * size] for i in range(count)]


def rnn_step(input_gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None, nonlinearity: str) -> Tensor:
    """The next hidden state, where `input_gates` is input @ weight_ih.T + bias_ih."""
    gates = input_gates + linear(hidden, weight, bias)
    return _ops.relu(gates) if nonlinearity == "relu" else _ops.tanh(gates)


def lstm_step(
    input_gates: Tensor, state: tuple[Tensor, Tensor], weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The next hidden and cell state (Hochreiter and Schmidhuber, 1997); gates are in, forget, cell, out."""
    hidden, cell = state
    entry, forget, candidate, exit = _split(input_gates + linear(hidden, weight, bias), 4)
    cell = _ops.sigmoid(forget) * cell + _ops.sigmoid(entry) * _ops.tanh(candidate)
    return _ops.sigmoid(exit) * _ops.tanh(cell), cell


def gru_step(input_gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The next hidden state (Cho et al., 2014); gates are reset, update, new, and reset acts after the product."""
    input_reset, input_update, input_new = _split(input_gates, 3)
    hidden_reset, hidden_update, hidden_new = _split(linear(hidden, weight, bias), 3)
    reset = _ops.sigmoid(input_reset + hidden_reset)
    update = _ops.sigmoid(input_update + hidden_update)
    new = _ops.tanh(input_new + reset * hidden_new)
    return new + update * (hidden - new)
