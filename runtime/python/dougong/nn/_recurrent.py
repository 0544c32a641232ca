"""Recurrent networks: cells, which take one step, and stacks of layers, which go over a sequence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core, _creation, _functions
from .._core import Tensor
from . import functional, init
from ._layers import _parameter
from ._module import Module
from .functional._recurrent import gru_step, lstm_step, rnn_step, steps

_State = Any  # a tensor, or the pair of an LSTM


def _check_nonlinearity(name: str) -> str:
    if name not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity must be 'tanh' or 'relu'; found {name!r}")
    return name


class _Recurrent(Module):
    """The weights of gates: uniform within 1 / sqrt(hidden_size)."""

    _gates = 1
    _pair = False  # whether the state is a hidden and a cell state

    def _add_weights(self, suffix: str, inputs: int, bias: bool, device: Any, dtype: Any) -> None:
        rows = self._gates * self.hidden_size
        self.register_parameter(f"weight_ih{suffix}", _parameter((rows, inputs), device, dtype))
        self.register_parameter(f"weight_hh{suffix}", _parameter((rows, self.hidden_size), device, dtype))
        for name in (f"bias_ih{suffix}", f"bias_hh{suffix}"):
            self.register_parameter(name, _parameter((rows,), device, dtype) if bias else None)

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _step(self, input_gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        raise NotImplementedError

    def _zeros(self, shape: tuple[int, ...], like: Tensor) -> _State:
        zeros = _creation.zeros(shape, dtype=like.dtype, device=like.device)
        return (zeros, zeros) if self._pair else zeros

    def _mapped(self, function: Callable[[Tensor], Tensor], state: _State) -> _State:
        return tuple(map(function, state)) if self._pair else function(state)

    def _check_state(self, state: _State, shape: tuple[int, ...]) -> _State:
        if self._pair and not (isinstance(state, (tuple, list)) and len(state) == 2):
            raise TypeError(
                f"{type(self).__name__}: the state is a pair, hidden and cell; found {type(state).__name__}"
            )
        for part in state if self._pair else (state,):
            if part.shape != shape:
                raise _core.InvalidArgumentError(
                    f"{type(self).__name__}: a state must have shape {shape}; found {part.shape}"
                )
        return state


class _Tanh:
    """The step of a plain recurrent network."""

    def _step(self, input_gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        return rnn_step(input_gates, state, weight, bias, self.nonlinearity)


class _Lstm:
    _gates, _pair = 4, True

    def _step(self, input_gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        return lstm_step(input_gates, state, weight, bias)


class _Gru:
    _gates = 3

    def _step(self, input_gates: Tensor, state: _State, weight: Tensor, bias: Tensor | None) -> _State:
        return gru_step(input_gates, state, weight, bias)


class _Cell(_Recurrent):
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._add_weights("", input_size, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: _State = None) -> _State:
        """The next state, from an input (batch, features), or one without a batch, and the state; zeros by default."""
        shape = (*input.shape[:-1], self.hidden_size)
        state = self._zeros(shape, input) if hx is None else self._check_state(hx, shape)
        return self._next(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _next(self, *args: Any) -> _State:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, bias={self.bias}"


class RNNCell(_Tanh, _Cell):
    """tanh, or relu, of both linear maps."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = _check_nonlinearity(nonlinearity)

    def _next(self, *args: Any) -> Tensor:
        return functional.rnn_relu_cell(*args) if self.nonlinearity == "relu" else functional.rnn_tanh_cell(*args)


class LSTMCell(_Lstm, _Cell):
    """See :func:`functional.lstm_cell`; the state is (hidden, cell)."""

    def _next(self, *args: Any) -> tuple[Tensor, Tensor]:
        return functional.lstm_cell(*args)


class GRUCell(_Gru, _Cell):
    """See :func:`functional.gru_cell`."""

    def _next(self, *args: Any) -> Tensor:
        return functional.gru_cell(*args)


class _Layers(_Recurrent):
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be positive; found {num_layers}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        self.dropout = functional.checked_probability(dropout)
        for layer in range(num_layers):
            inputs = hidden_size * self._directions if layer else input_size
            for suffix in self._suffixes(layer):
                self._add_weights(suffix, inputs, bias, device, dtype)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: self._directions]

    def forward(self, input: Tensor, hx: _State = None) -> tuple[Tensor, _State]:
        """The last layer's hidden state at each step, both directions side by side, and the state at the end.

        Input and output are (steps, batch, features), (batch, steps, features) with `batch_first`, or without a batch.
        States are (layers * directions, batch, hidden_size), or without a batch, and begin as zeros by default.
        """
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            raise _core.InvalidArgumentError(
                f"{type(self).__name__}: the input has 3 axes, or 2 without a batch, and {self.input_size} features; "
                f"found shape {input.shape}"
            )
        if input.ndim == 2:
            hx = None if hx is None else self._mapped(lambda part: part.unsqueeze(1), hx)
            output, state = self._run(input.unsqueeze(1), hx)
            return output.squeeze(1), self._mapped(lambda part: part.squeeze(1), state)
        output, state = self._run(input.transpose(0, 1) if self.batch_first else input, hx)
        return output.transpose(0, 1) if self.batch_first else output, state

    def _run(self, x: Tensor, hx: _State) -> tuple[Tensor, _State]:
        shape = (self.num_layers * self._directions, x.shape[1], self.hidden_size)
        state = self._zeros(shape, x) if hx is None else self._check_state(hx, shape)
        ends = []
        for layer in range(self.num_layers):
            if layer:
                x = functional.dropout(x, self.dropout, self.training)
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                place = len(ends)
                begin = tuple(part[place] for part in state) if self._pair else state[place]
                output, end = self._scan(x, begin, suffix, reverse=direction == 1)
                outputs.append(output)
                ends.append(end)
            x = outputs[0] if len(outputs) == 1 else _core.ops.cat(outputs, -1)
        if self._pair:
            return x, tuple(_functions.stack(list(parts)) for parts in zip(*ends, strict=True))
        return x, _functions.stack(ends)

    def _scan(self, x: Tensor, state: _State, suffix: str, reverse: bool) -> tuple[Tensor, _State]:
        """One layer in one direction. The inputs' share of the gates of all steps is one product."""
        weights = [getattr(self, name + suffix) for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")]
        gates = steps(functional.linear(x, weights[0], weights[1]))
        hidden: list[Any] = [None] * x.shape[0]
        for i in reversed(range(len(gates))) if reverse else range(len(gates)):
            state = self._step(gates[i], state, weights[2], weights[3])
            hidden[i] = state[0] if self._pair else state
        if not hidden:
            raise _core.InvalidArgumentError(f"{type(self).__name__}: the sequence has no steps")
        return _functions.stack(hidden), state

    def extra_repr(self) -> str:
        return (
            f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, bias={self.bias}, "
            f"batch_first={self.batch_first}, dropout={self.dropout}, bidirectional={self.bidirectional}"
        )


class RNN(_Tanh, _Layers):
    """Layers of :class:`RNNCell`."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", **options: Any
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **options)
        self.nonlinearity = _check_nonlinearity(nonlinearity)


class LSTM(_Lstm, _Layers):
    """Layers of :class:`LSTMCell`; the state is (hidden, cell)."""


class GRU(_Gru, _Layers):
    """Layers of :class:`GRUCell`."""
