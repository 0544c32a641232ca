"""Hooks of modules: when they are called, with what, and what their results change."""

from __future__ import annotations

import copy
from typing import Any

import dougong
import pytest
from dougong import nn


class Scale(nn.Module):
    def __init__(self, by: float = 2.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(dougong.tensor(by))

    def forward(self, x: dougong.Tensor, extra: float = 0.0) -> dougong.Tensor:
        return x * self.weight + extra


def leaf(*values: float) -> dougong.Tensor:
    return dougong.tensor(list(values), requires_grad=True)


def test_forward_hooks_run_in_order_and_replace_what_they_return():
    model, seen = Scale(), []
    model.register_forward_pre_hook(lambda m, args: seen.append("second"))
    model.register_forward_pre_hook(lambda m, args: (args[0] + 1,), prepend=True)
    model.register_forward_hook(lambda m, args, out: seen.append(args[0].tolist()))
    model.register_forward_hook(lambda m, args, out: out * 10)
    assert model(leaf(1.0)).tolist() == [40.0]
    assert seen == ["second", [2.0]]


def test_a_hook_with_kwargs_sees_and_changes_them():
    model, seen = Scale(), []
    with model.register_forward_pre_hook(lambda m, args, kwargs: (args, {"extra": 5.0}), with_kwargs=True):
        model.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
        assert model(leaf(1.0)).tolist() == [7.0] and seen == [{"extra": 5.0}]
    assert model(leaf(1.0)).tolist() == [2.0]
    model.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(TypeError, match="args, kwargs"):
        model(leaf(1.0))


def test_full_backward_hook_sees_both_gradients_and_replaces_that_of_the_input():
    model, seen = Scale(), []

    def hook(module: nn.Module, grad_input: Any, grad_output: Any) -> Any:
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 100,)

    handle = model.register_full_backward_hook(hook)
    x = leaf(1.0, 3.0)
    (model(x) * dougong.tensor([1.0, 10.0])).sum().backward()
    assert seen == [([2.0, 20.0], [1.0, 10.0])]
    assert x.grad.tolist() == [200.0, 2000.0] and model.weight.grad.tolist() == 31.0
    handle.remove()
    x.grad = None
    model(x).sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [2.0, 2.0]


def test_full_backward_pre_hook_changes_the_gradient_before_the_module():
    model, x = Scale(), leaf(1.0)
    model.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 3,))
    model(x).sum().backward()
    assert x.grad.tolist() == [6.0] and model.weight.grad.tolist() == 3.0


def test_backward_hook_runs_when_no_input_needs_a_gradient():
    model, seen = Scale(), []
    model.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, len(grad_output))))
    model(dougong.tensor([1.0])).sum().backward()
    assert seen == [((None,), 1)] and model.weight.grad.tolist() == 1.0


def test_backward_hook_that_returns_another_number_of_gradients_is_refused():
    model = Scale()
    model.register_full_backward_hook(lambda m, grad_input, grad_output: (None, None))
    with pytest.raises(dougong.InvalidArgumentError, match="2 gradients; wanted 1"):
        model(leaf(1.0)).sum().backward()


def test_state_dict_hooks_see_their_part_and_may_change_it():
    model, seen = nn.Sequential(Scale(), Scale(3.0)), []
    model[1].register_state_dict_pre_hook(lambda m, prefix, keep_vars: seen.append((prefix, keep_vars)))
    model.register_state_dict_post_hook(lambda m, state, prefix, _: state.pop("0.weight"))
    state = model.state_dict(keep_vars=True)
    assert list(state) == ["1.weight"] and state["1.weight"] is model[1].weight and seen == [("1.", True)]


def test_load_hooks_may_put_an_old_state_right_and_see_what_is_missing():
    model, seen = nn.Sequential(Scale()), []

    def rename(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
        state[prefix + "weight"] = state.pop(prefix + "factor")

    model[0].register_load_state_dict_pre_hook(rename)
    model.register_load_state_dict_post_hook(lambda m, keys: seen.append((m[0].weight.item(), keys.missing_keys)))
    old = {"0.factor": dougong.tensor(7.0)}
    assert model.load_state_dict(old) == ([], []) and seen == [(7.0, [])] and list(old) == ["0.factor"]


def test_a_load_pre_hook_can_refuse_the_state():
    model = Scale()
    model.register_load_state_dict_pre_hook(lambda *args: args[-1].append("made by version 0"))
    with pytest.raises(dougong.InvalidArgumentError, match="version 0"):
        model.load_state_dict({"weight": dougong.tensor(9.0)})
    assert model.weight.item() == 2.0


def test_a_copy_has_hooks_of_its_own():
    model = Scale()
    model.register_forward_hook(lambda m, args, out: out + 1)
    twin = copy.deepcopy(model)
    twin.register_forward_hook(lambda m, args, out: out * 0)
    assert model(leaf(1.0)).tolist() == [3.0] and twin(leaf(1.0)).tolist() == [0.0]


def test_parts_are_found_by_path():
    model = nn.Sequential(Scale())
    model[0].register_buffer("count", dougong.zeros(()))
    assert model.get_parameter("0.weight") is model[0].weight
    assert model.get_buffer("0.count") is model[0].count
    with pytest.raises(AttributeError, match=r"no buffer '0\.weight'"):
        model.get_buffer("0.weight")
