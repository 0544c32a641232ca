"""Where a call is computed: the plugin's kernel, repaired arguments, or the host; and that each step is counted."""

from __future__ import annotations

import ctypes

import dougong
import numpy as np
import pytest

DEVICE, OTHER = "particular:0", "particular:1"
ADD, MUL, SUB, RELU, SOFTMAX = range(5)


@pytest.fixture(scope="module")
def library(compile_plugin):
    path = compile_plugin("kernels", file="libdg_particular.so")
    dougong.load_plugin(path)
    return ctypes.CDLL(str(path))


@pytest.fixture
def launches(library):
    """How often a kernel was launched since the test began."""
    before = [library.kernels_launches(i) for i in range(5)]
    dougong.reset_fallbacks()
    return lambda kernel: library.kernels_launches(kernel) - before[kernel]


def on_device(values, dtype=dougong.float32, device=DEVICE):
    return dougong.tensor(values, dtype=dtype, device=device)


def rows(step: str) -> dict[str, int]:
    return {row.op: row.count for row in dougong.ledger() if row.step == step and row.device == DEVICE}


# -- native --------------------------------------------------------------------------------------------------------


def test_own_kernel_is_used_and_nothing_is_counted(launches):
    with dougong.strict():
        y = on_device([1, 2]) + on_device([3, 4])
    assert y.tolist() == [4, 6]
    assert str(y.device) == DEVICE
    assert launches(ADD) == 1
    assert dougong.fallbacks() == {}


def test_dense_kernel_gets_dense_copies_which_are_counted(launches):
    x = on_device(np.arange(6).reshape(2, 3))
    assert (x.T + x.T).tolist() == [[0, 6], [2, 8], [4, 10]]
    assert (x + on_device([10, 20, 30])).tolist() == [[10, 21, 32], [13, 24, 35]]
    assert (x[:, ::2] + 1).tolist() == [[1, 3], [4, 6]]
    assert launches(ADD) == 3
    assert rows("contiguous")["add"] == 5  # both operands, the row, the slice and the number
    assert "add" not in rows("host")


def test_strided_kernel_gets_views_as_they_are(launches):
    x = on_device(np.arange(6).reshape(2, 3))
    assert (x.T * on_device([[1], [2], [3]])).tolist() == [[0, 3], [2, 8], [6, 15]]
    assert (x[:, ::-1] * 2).tolist() == [[4, 2, 0], [10, 8, 6]]
    x.T[1:].mul_(10)
    assert x.tolist() == [[0, 10, 20], [3, 40, 50]]
    assert launches(MUL) == 3
    assert rows("contiguous") == {}


def test_output_that_the_kernel_cannot_write_is_copied_to(launches):
    x = on_device([1, 2, 3, 4])
    x += 1
    dougong.add(x, x, out=x)
    view = dougong.zeros(8, device=DEVICE)
    dougong.add(x, 1, out=view[::2])
    assert x.tolist() == [4, 6, 8, 10]
    assert view.tolist() == [5, 0, 7, 0, 9, 0, 11, 0]
    assert launches(ADD) == 3


@pytest.mark.parametrize("offset", [1, 3, 5])
def test_aligned_kernel_gets_aligned_copies(launches, offset):
    x = on_device(np.arange(20))
    assert (x[offset:10] - 1).tolist() == list(range(offset - 1, 9))
    x[offset:10].sub_(1)
    assert x.tolist()[offset:10] == list(range(offset - 1, 9))
    assert launches(SUB) == 2
    assert rows("aligned")["sub"] >= 1


def test_other_dtype_goes_to_the_host_or_is_cast(launches):
    y = on_device([1, 2], dougong.int64) + on_device([3, 4], dougong.int64)
    assert y.tolist() == [4, 6]
    assert y.dtype == dougong.int64
    assert rows("host")["add"] == 1
    assert launches(ADD) == 0


def test_kernel_that_says_unsupported_hands_the_call_on(launches):
    assert on_device([-1, 2]).relu().tolist() == [0, 2]
    assert dougong.fallbacks(DEVICE) == {}
    assert on_device([-1, 2, -3, 4, 5]).relu().tolist() == [0, 2, 0, 4, 5]
    assert launches(RELU) == 2
    assert dougong.fallbacks(DEVICE) == {"relu": 1}


def test_failure_of_a_kernel_is_an_error_with_the_plugins_sentence(launches):
    with pytest.raises(dougong.InternalError, match="the chip caught fire") as error:
        -on_device([1])
    assert "particular" in str(error.value)
    assert (on_device([1]) + 1).tolist() == [2]
    assert "neg" not in rows("host")


def test_plan_is_made_once_a_shape_and_serves_other_addresses(library, launches):
    before = library.kernels_plans()
    wanted = np.exp([[0, 1, 2]]) / np.exp([0, 1, 2]).sum()
    for _ in range(5):
        assert np.allclose(on_device([[0, 1, 2]]).softmax(1).numpy(), wanted)
    assert library.kernels_plans() - before == 1
    assert np.allclose(on_device([[0, 1, 2, -9e9]]).softmax(-1).numpy()[:, :3], wanted)
    assert library.kernels_plans() - before == 2
    assert launches(SOFTMAX) == 6


def test_plan_that_says_unsupported_hands_the_call_on(launches):
    assert on_device([[0, 1, 2]]).softmax(0).tolist() == [[1, 1, 1]]
    assert launches(SOFTMAX) == 0
    assert dougong.fallbacks(DEVICE) == {"softmax": 1}


# -- the host ------------------------------------------------------------------------------------------------------


def test_what_has_no_kernel_is_computed_by_the_host_and_counted_once(library):
    dougong.reset_fallbacks()
    x = on_device([[1, 2], [3, 4]])
    dougong.reset_fallbacks()
    y = x @ x
    assert y.tolist() == [[7, 10], [15, 22]]
    assert str(y.device) == DEVICE
    assert dougong.fallbacks() == {"matmul": 1}
    assert dougong.fallbacks("cpu:0") == {}
    assert [tuple(row) for row in dougong.ledger() if row.op == "matmul"] == [(DEVICE, "matmul", "host", 1)]


def test_host_reads_and_writes_views_on_the_device(library):
    x = on_device(np.arange(12).reshape(3, 4))
    assert x.T[1:3].exp().log().numpy().round().tolist() == [[1, 5, 9], [2, 6, 10]]
    x.T[1:3].exp_()
    assert np.allclose(x.numpy()[:, 1:3], np.exp(np.arange(12).reshape(3, 4)[:, 1:3]))
    assert x.numpy()[:, [0, 3]].tolist() == [[0, 3], [4, 7], [8, 11]]


def test_optimizer_step_by_the_host_writes_the_devices_memory(library):
    parameter, state = on_device([1.0, 2.0]), on_device([0.0, 0.0])
    address = parameter.data_ptr()
    dougong.ops.sgd(parameter, on_device([1.0, 1.0]), state, lr=0.5, momentum=0.9, first_step=True)
    assert parameter.tolist() == [0.5, 1.5]
    assert state.tolist() == [1, 1]
    assert parameter.data_ptr() == address


def test_strict_mode_raises_and_names_op_and_device(library):
    x = on_device([1.0])
    with dougong.strict(), pytest.raises(dougong.UnsupportedError, match=r"exp.*particular:0"):
        x.exp()
    assert np.isclose(x.exp().item(), np.e)
    with dougong.strict():
        with dougong.strict(False):
            x.exp()
        with pytest.raises(dougong.UnsupportedError):
            x.exp()


def test_repair_that_the_host_would_have_to_do_is_refused_in_strict_mode_too(library):
    x = on_device(np.arange(6).reshape(2, 3))
    with dougong.strict(), pytest.raises(dougong.UnsupportedError, match="copy"):
        x.T + x.T
    with dougong.strict():
        assert (x.T * x.T)[2, 1].item() == 25


# -- devices -------------------------------------------------------------------------------------------------------


def test_mixed_devices_are_refused_and_both_are_named(library):
    with pytest.raises(ValueError, match=r"add.*particular:0.*cpu:0.*\.to"):
        on_device([1, 2]) + dougong.ones(2)
    with pytest.raises(ValueError, match=r"particular:0.*particular:1"):
        on_device([1, 2]) * on_device([1, 2], device=OTHER)
    with pytest.raises(ValueError, match=r"out is on cpu:0.*particular:0"):
        dougong.add(on_device([1]), on_device([1]), out=dougong.zeros(1))


def test_results_stay_on_the_inputs_device_whatever_the_default_is(library):
    y = on_device([1, 2], device=OTHER) + 1
    assert str(y.device) == OTHER
    assert str(y.exp().device) == OTHER
    assert str((2 * y).device) == OTHER
    assert str(dougong.zeros(1).device) == "cpu:0"


def test_gradients_cross_devices_and_come_back(library):
    x = dougong.tensor([1.0, 2.0], requires_grad=True)
    (x.to(DEVICE) * 3).to(OTHER).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert str(x.grad.device) == "cpu:0"


def test_module_moves_with_gradients_and_optimizer(library):
    nn, optim = dougong.nn, dougong.optim
    model = nn.Linear(2, 2)
    optimizer = optim.Adam(model.parameters())
    for device in ("cpu:0", DEVICE, OTHER):
        model.to(device)
        optimizer.zero_grad()
        model(dougong.ones(1, 2, device=device)).sum().backward()
        optimizer.step()
        assert {str(p.device) for p in model.parameters()} == {device}
        assert {str(v["exp_avg"].device) for v in optimizer.state.values()} == {device}
        assert str(model.weight.grad.device) == device
    other = optim.Adam(nn.Linear(2, 2).to(DEVICE).parameters())
    other.load_state_dict(optimizer.state_dict())
    assert {str(v["exp_avg"].device) for v in other.state.values()} == {DEVICE}


def test_random_numbers_are_the_same_on_every_device_and_states_apart(library):
    dougong.manual_seed(11)
    numbers = [dougong.rand(9, device=device).tolist() for device in ("cpu:0", DEVICE, OTHER)]
    assert numbers[0] == numbers[1] == numbers[2]
    before = dougong.get_rng_state(OTHER)
    dougong.rand(9, device=DEVICE)
    assert dougong.get_rng_state(OTHER) == before


@pytest.mark.parametrize("size", [1, 16, 64, 100, 10**6])
def test_copy_to_the_device_is_a_snapshot(library, size):
    x = dougong.arange(size)
    y = x.to(DEVICE)
    x.fill_(-1)
    del x
    junk = [dougong.full((size,), -1) for _ in range(3)]
    assert np.array_equal(y.cpu().numpy(), np.arange(size))
    assert len(junk) == 3


def test_copies_between_devices_keep_strides_apart(library):
    x = on_device(np.arange(6).reshape(2, 3)).T
    y = x.to(OTHER)
    assert y.tolist() == x.tolist()
    assert y.is_contiguous()
    y.copy_(x * 2)
    assert y.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert dougong.zeros(0, 3, device=DEVICE).to(OTHER).shape == (0, 3)


def of(*shape: int) -> dougong.Tensor:
    return dougong.ones(shape)


BAD_SHAPES = {
    "sgd buffer": (lambda o: o.sgd(of(3), of(3), of(2), 0.1, 0.9), "shape of parameter"),
    "sgd without buffer": (lambda o: o.sgd(of(3), of(3), None, 0.1, 0.9), "momentum_buffer"),
    "embedding": (lambda o: o.embedding_backward(of(2, 4), dougong.arange(3), 5), "shape of index"),
    "cross entropy": (lambda o: o.cross_entropy_backward(of(2), of(2, 3), dougong.arange(2)), "shape of the loss"),
    "layer norm": (lambda o: o.layer_norm_backward(of(2, 3), of(2, 3), of(4), of(2), of(2)), "weight"),
    "mean": (lambda o: o.layer_norm_backward(of(2, 3), of(2, 3), of(3), of(3), of(2)), "mean and rstd"),
    "convolution": (
        lambda o: o.conv2d_backward_input(of(1, 2, 9, 9), of(2, 1, 3, 3), [1, 1, 4, 4]),
        "result of conv2d",
    ),
    "weight": (lambda o: o.conv2d_backward_weight(of(1, 2, 9, 9), of(1, 1, 4, 4), [2, 1, 3, 3]), "result of conv2d"),
    "pool": (
        lambda o: o.max_pool2d_backward(of(2, 1, 2, 2), dougong.zeros(2, 1, 2, 2, dtype="int64"), [1, 1, 4, 4]),
        "batch",
    ),
}


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_shapes_that_do_not_fit_are_refused_before_a_kernel_reads_past_its_memory(name: str) -> None:
    call, text = BAD_SHAPES[name]
    with pytest.raises(dougong.InvalidArgumentError, match=text):
        call(dougong.ops)
