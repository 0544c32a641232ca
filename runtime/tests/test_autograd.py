"""The tape: modes, accumulation, views, writes in place, hooks, functions with a gradient of their own."""

from __future__ import annotations

import gc
import threading
import weakref

import dougong
import numpy as np
import pytest
from dougong import autograd


def leaf(*values: float) -> dougong.Tensor:
    return dougong.tensor(values, requires_grad=True)


def test_chain_rule_through_several_uses_of_one_tensor():
    x = leaf(1.0, 2.0, 3.0)
    (x * x + x.exp() * x).sum().backward()
    wanted = 2 * x.detach().numpy() + np.exp([1, 2, 3]) * (1 + np.array([1, 2, 3]))
    assert np.allclose(x.grad.numpy(), wanted, rtol=1e-6)


def test_gradients_accumulate_until_they_are_cleared():
    x = leaf(2.0)
    for _ in range(3):
        (x * 3).sum().backward()
    assert x.grad.tolist() == [9]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3]


def test_second_backward_needs_retain_graph():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8]
    with pytest.raises(ValueError, match="retain_graph"):
        y.backward()


def test_backward_of_many_elements_needs_a_gradient_of_that_shape():
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match=r"\(2,\)"):
        (x * 2).backward()
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        (x * 2).backward(dougong.ones(3))
    (x * 2).backward(dougong.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2, 20]
    with pytest.raises(ValueError, match=r"no gradient|history"):
        dougong.ones(1).backward()


def test_grad_returns_gradients_and_touches_none():
    x, y, z = leaf(2.0), leaf(3.0), leaf(1.0)
    out = x * x * y
    assert [g.tolist() for g in autograd.grad(out, [x, y], retain_graph=True)] == [[12], [4]]
    assert x.grad is None
    assert autograd.grad(out, [x, z], allow_unused=True, retain_graph=True)[1] is None
    with pytest.raises(ValueError, match="input 1"):
        autograd.grad(out, [x, z])


def test_gradient_of_a_gradient():
    x = leaf(2.0)
    (first,) = autograd.grad(x * x * x, x, create_graph=True)
    (second,) = autograd.grad(first, x, create_graph=True)
    (third,) = autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12, 12, 6)


def test_no_grad_and_enable_grad_as_context_and_decorator():
    x = leaf(1.0)
    with dougong.no_grad():
        assert not (x * 2).requires_grad
        with dougong.enable_grad():
            assert (x * 2).requires_grad
        assert not dougong.is_grad_enabled()
    assert dougong.is_grad_enabled()
    assert not dougong.no_grad()(lambda: x * 2)().requires_grad
    with pytest.raises(ZeroDivisionError), dougong.no_grad():
        1 / 0  # noqa: B018
    assert dougong.is_grad_enabled()


def test_modes_belong_to_a_thread():
    seen = []
    with dougong.no_grad():
        thread = threading.Thread(target=lambda: seen.append(dougong.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_broadcast_gradients_are_summed_to_the_inputs_shape():
    for shape in [(), (1,), (3, 1), (1, 4), (2, 1, 4)]:
        x = dougong.ones(shape, requires_grad=True)
        (x * dougong.ones(2, 3, 4)).sum().backward()
        assert x.grad.shape == shape
        assert x.grad.sum().item() == 24


def test_gradients_flow_through_views():
    x = dougong.arange(12.0).reshape(3, 4).requires_grad_()
    weight = dougong.arange(6.0)
    (x.T[1:3].reshape(6) * weight).sum().backward()
    wanted = np.zeros((3, 4))
    wanted.T[1:3] = np.arange(6).reshape(2, 3)
    assert np.array_equal(x.grad.numpy(), wanted)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1],
        lambda x: x[::2, 1:],
        lambda x: x[:, ::-1],
        lambda x: x[None, ..., 0],
        lambda x: x.permute(1, 0),
        lambda x: x.expand(2, 3, 4),
        lambda x: x.unsqueeze(1).squeeze(1),
        lambda x: dougong.flip(x, (0,)),
        lambda x: dougong.cat([x, x[:1]], 0),
        lambda x: dougong.stack([x, x]),
        lambda x: x[dougong.tensor([2, 0, 2])],
    ],
)
def test_gradient_of_a_movement_counts_how_often_each_element_came(view):
    x = dougong.arange(12.0).reshape(3, 4).requires_grad_()
    view(x).sum().backward()
    indices = view(dougong.arange(12.0).reshape(3, 4)).numpy().astype(int).ravel()
    assert np.array_equal(x.grad.numpy().ravel(), np.bincount(indices, minlength=12))


def test_write_to_a_saved_value_is_noticed():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(ValueError, match=r"in place|written"):
        z.backward()


def test_write_to_a_leaf_that_needs_a_gradient_is_refused():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="leaf"):
        x.add_(1)
    with dougong.no_grad():
        x.add_(1)
    assert x.tolist() == [2]


def test_recorded_write_in_place_has_a_gradient():
    x = leaf(2.0, 3.0)
    y = x * 2
    y.mul_(x)
    y.sum().backward()
    assert x.grad.tolist() == [8, 12]


def test_detach_and_data_share_memory_without_history():
    x = leaf(1.0)
    y = x * 2
    assert not y.detach().requires_grad
    assert y.detach().data_ptr() == y.data_ptr()
    x.data.fill_(5)
    assert x.tolist() == [5]
    assert x.requires_grad


def test_hooks_see_and_replace_gradients():
    x = leaf(1.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g.item()))
    y.sum().backward()
    assert seen == [20]
    assert x.grad.tolist() == [20]


def test_retain_grad_keeps_what_is_no_leaf():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3]
    assert (x * 2).grad is None


class Double(autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Wrong(autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_function_with_a_gradient_of_its_own():
    x = leaf(1.0, 2.0)
    Double.apply(x, 4.0).sum().backward()
    assert x.grad.tolist() == [4, 4]
    with pytest.raises(ValueError, match=r"Wrong.*1 gradients for 2"):
        Wrong.apply(x, x).sum().backward()


class Raises(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        raise KeyError("from backward")


def test_exception_in_backward_reaches_the_caller():
    x = leaf(1.0)
    with pytest.raises(KeyError, match="from backward"):
        Raises.apply(x).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2]


def test_long_chains_are_neither_walked_nor_freed_by_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y + 0
    y.sum().backward()
    assert x.grad.tolist() == [1]
    del y


def test_gradients_in_float32_of_a_float16_cast_come_back_in_float32():
    x = leaf(1.5)
    (x.half() * 2).float().sum().backward()
    assert x.grad.dtype == dougong.float32
    assert x.grad.tolist() == [2]


def test_op_without_a_gradient_says_so_or_stops_it():
    x = leaf(1.0, 2.0)
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad


def test_tape_does_not_keep_leaves_alive():
    x = leaf(1.0)
    reference = weakref.ref(x)
    y = (x * 2).sum()
    y.backward()
    del x, y
    gc.collect()
    assert reference() is None


def test_grad_of_another_shape_is_refused():
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        x.grad = dougong.ones(3)
    with pytest.raises(TypeError):
        x.grad = 1


def test_a_hook_of_a_tensor_can_be_removed():
    x = dougong.ones(2, requires_grad=True)
    doubled = x * 3
    first, second = x.register_hook(lambda g: g * 10), doubled.register_hook(lambda g: g * 100)
    doubled.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [3000.0, 3000.0]
    first.remove()
    second.remove()
    x.grad = None
    doubled.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
