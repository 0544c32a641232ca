"""Modules, layers and losses mean what they mean in PyTorch: expected values are computed with NumPy."""

from __future__ import annotations

import copy
import math
import pickle

import dougong
import numpy as np
import pytest
from dougong import nn
from dougong.nn import functional as F


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed).standard_normal(shape).astype(np.float32)


def tensor(array: np.ndarray, requires_grad: bool = False) -> dougong.Tensor:
    return dougong.tensor(array, requires_grad=requires_grad)


class Tied(nn.Module):
    """Two names for one parameter, a buffer, and a child."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(dougong.ones(()))
        self.register_buffer("count", dougong.zeros((), dtype=dougong.int64))
        self.register_buffer("cache", dougong.zeros(2), persistent=False)

    def forward(self, x: dougong.Tensor) -> dougong.Tensor:
        return self.second(self.first(x)) * self.scale


# -- Module --------------------------------------------------------------------------------------------------------


def test_parts_are_found_by_path_once_each():
    model = Tied()
    assert [name for name, _ in model.named_parameters()] == ["scale", "first.weight", "first.bias"]
    assert [name for name, _ in model.named_buffers()] == ["count", "cache"]
    assert [name for name, _ in model.named_modules()] == ["", "first", "second"]
    assert len(list(model.children())) == 2
    assert list(model.state_dict()) == ["scale", "count", "first.weight", "first.bias", "second.weight"]
    assert model.get_submodule("first") is model.first
    with pytest.raises(AttributeError, match="third"):
        model.get_submodule("third")


def test_parameter_looks_at_the_memory_it_was_made_of():
    data = dougong.zeros(2)
    parameter = nn.Parameter(data)
    data.fill_(3)
    assert parameter.tolist() == [3, 3]
    assert parameter.requires_grad
    assert isinstance(parameter, dougong.Tensor)
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert type(parameter + 1) is dougong.Tensor
    assert "Parameter containing" in repr(parameter)


def test_attributes_are_checked():
    model = Tied()
    with pytest.raises(TypeError, match=r"scale must be an nn.Parameter.*float"):
        model.scale = 1.0
    with pytest.raises(TypeError, match=r"first must be an nn.Module"):
        model.first = dougong.zeros(1)
    model.scale = None
    assert "scale" not in model.state_dict()
    with pytest.raises(AttributeError, match="nothing"):
        model.nothing  # noqa: B018
    with pytest.raises(KeyError, match="dots"):
        model.register_buffer("a.b", None)
    with pytest.raises(KeyError, match="forward"):
        model.register_buffer("forward", None)
    del model.count
    assert [name for name, _ in model.named_buffers()] == ["cache"]


def test_forgotten_super_init_says_so():
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Forgetful()


def test_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Module"):
        nn.Module()(1)


def test_conversion_keeps_ties_objects_and_integer_buffers():
    model = Tied()
    parameters = list(model.parameters())
    model(dougong.ones(1, 3)).sum().backward()
    model.double()
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    assert model.first.weight is model.second.weight
    assert model.first.weight.dtype == dougong.float64
    assert model.first.weight.grad.dtype == dougong.float64
    assert model.count.dtype == dougong.int64
    assert model.cache.dtype == dougong.float64
    assert model(dougong.ones(1, 3, dtype=dougong.float64)).dtype == dougong.float64
    with pytest.raises(TypeError, match="int64"):
        model.to(dougong.int64)


def test_train_and_eval_reach_all_modules():
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Dropout()))
    model.eval()
    assert not any(m.training for m in model.modules())
    assert all(m.training for m in model.train().modules())


def test_apply_goes_children_first():
    seen = []
    nn.Sequential(nn.Linear(1, 1), nn.ReLU()).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Sequential"]


def test_zero_grad_and_requires_grad():
    model = nn.Linear(2, 1)
    model(dougong.ones(1, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    assert model.weight.grad.tolist() == [[0, 0]]
    model.zero_grad()
    assert model.weight.grad is None
    model.requires_grad_(False)
    assert not model(dougong.ones(1, 2)).requires_grad


def test_hooks_see_and_change_arguments_and_output():
    model = nn.Identity()
    before = model.register_forward_pre_hook(lambda m, args: args[0] + 1)
    after = model.register_forward_hook(lambda m, args, out: out * args[0])
    assert model(dougong.tensor(2.0)).item() == 9
    before.remove()
    after.remove()
    assert model(dougong.tensor(2.0)).item() == 2


def test_repr_shows_the_tree():
    text = repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU())))
    assert text == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n    (0): ReLU()\n  )\n)"
    )


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copy_of_a_module_is_independent_and_still_tied(copied):
    model = Tied()
    other = copied(model)
    assert other.first.weight is other.second.weight
    assert isinstance(other.first.weight, nn.Parameter)
    assert other.first.weight.data_ptr() != model.first.weight.data_ptr()
    assert np.array_equal(other.first.weight.detach().numpy(), model.first.weight.detach().numpy())
    assert [n for n, _ in other.named_parameters()] == [n for n, _ in model.named_parameters()]


# -- state ---------------------------------------------------------------------------------------------------------


def test_state_dict_shares_memory_and_has_no_history():
    model = nn.Linear(2, 2)
    state = model.state_dict()
    assert not any(value.requires_grad for value in state.values())
    state["bias"].fill_(4)
    assert model.bias.tolist() == [4, 4]


def test_load_copies_values_of_any_dtype():
    model = nn.Linear(2, 2)
    model.load_state_dict({"weight": dougong.ones(2, 2, dtype=dougong.float64), "bias": dougong.ones(2)})
    assert model.weight.dtype == dougong.float32
    assert model.weight.tolist() == [[1, 1], [1, 1]]
    model.load_state_dict(model.state_dict())
    assert model.weight.tolist() == [[1, 1], [1, 1]]


def test_state_that_does_not_fit_is_told_completely_and_changes_nothing():
    model = nn.Linear(2, 2)
    before = model.weight.tolist()
    with pytest.raises(ValueError) as error:
        model.load_state_dict({"weight": dougong.ones(2, 3), "extra": dougong.ones(1)})
    for part in ("Linear", "weight", "(2, 2)", "(2, 3)", "missing: bias", "unexpected: extra"):
        assert part in str(error.value)
    assert model.weight.tolist() == before
    keys = model.load_state_dict({"extra": dougong.ones(1)}, strict=False)
    assert keys == (["weight", "bias"], ["extra"])
    with pytest.raises(ValueError, match="wanted a tensor, found int"):
        model.load_state_dict({"weight": 1, "bias": dougong.ones(2)})


# -- containers ----------------------------------------------------------------------------------------------------


def test_sequential_is_a_list_of_layers():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(model) == 3
    assert isinstance(model[-1], nn.Linear)
    assert isinstance(model[:2], nn.Sequential)
    assert len(model[:2]) == 2
    model.append(nn.Sigmoid())
    model[1] = nn.Tanh()
    del model[0]
    assert [type(m).__name__ for m in model] == ["Tanh", "Linear", "Sigmoid"]
    assert [name for name, _ in model.named_parameters()] == ["1.weight", "1.bias"]
    with pytest.raises(IndexError, match="3"):
        model[3]
    assert list(nn.Sequential({"a": nn.ReLU()})._modules) == ["a"]


def test_module_list_and_dict_register_their_parts():
    model = nn.Module()
    model.layers = nn.ModuleList([nn.Linear(1, 1)]).extend([nn.Linear(1, 1)])
    model.heads = nn.ModuleDict({"a": nn.Linear(1, 1, bias=False)})
    model.heads["b"] = nn.ReLU()
    names = [name for name, _ in model.named_parameters()]
    assert names == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "heads.a.weight"]
    assert list(model.heads) == ["a", "b"]
    assert "a" in model.heads
    assert len(model.layers) == 2


# -- layers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4), (2, 0, 4)])
def test_linear(shape):
    layer, x = nn.Linear(4, 5), random(*shape)
    wanted = x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    found = layer(tensor(x))
    assert found.shape == wanted.shape
    assert np.allclose(found.detach().numpy(), wanted, atol=1e-6)


def test_linear_says_both_shapes():
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(2, 5\)"):
        nn.Linear(5, 2)(dougong.zeros(3, 4))


@pytest.mark.parametrize("padding", [0, 1, "same", "valid"])
@pytest.mark.parametrize("kernel", [3, 2, (1, 4)])
def test_conv2d(padding, kernel):
    layer, x = nn.Conv2d(2, 3, kernel, padding=padding), random(2, 2, 6, 7)
    height, width = layer.kernel_size
    total = {"same": (height - 1, width - 1), "valid": (0, 0)}.get(padding, (2, 2) if padding == 1 else (0, 0))
    before = [t // 2 for t in total]
    padded = np.pad(x, ((0, 0), (0, 0), *[(b, t - b) for b, t in zip(before, total, strict=True)]))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(2, 3))
    wanted = np.einsum("nchwij,ocij->nohw", windows, layer.weight.detach().numpy())
    wanted += layer.bias.detach().numpy()[:, None, None]
    assert np.allclose(layer(tensor(x)).detach().numpy(), wanted, atol=1e-5)
    assert layer(tensor(x[0])).shape == wanted[0].shape


def test_conv2d_arguments_are_checked():
    with pytest.raises(ValueError, match="groups"):
        nn.Conv2d(3, 4, 1, groups=2)
    with pytest.raises(ValueError, match="stride"):
        F.conv2d(dougong.zeros(1, 1, 4, 4), dougong.zeros(1, 1, 3, 3), stride=2, padding="same")


def test_max_pool2d_lies_side_by_side_by_default():
    x = random(2, 3, 6, 4)
    wanted = x.reshape(2, 3, 3, 2, 2, 2).max((3, 5))
    assert np.array_equal(nn.MaxPool2d(2)(tensor(x)).numpy(), wanted)
    assert nn.MaxPool2d(2, stride=1)(tensor(x)).shape == (2, 3, 5, 3)
    assert F.max_pool2d(tensor(x[0]), 2).shape == (3, 3, 2)


def test_activations():
    x = random(3, 4)
    e = np.exp(x - x.max(1, keepdims=True))
    softmax = e / e.sum(1, keepdims=True)
    erf = np.vectorize(math.erf)
    tanh_gelu = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    for layer, wanted in [
        (nn.ReLU(), np.maximum(x, 0)),
        (nn.Sigmoid(), 1 / (1 + np.exp(-x))),
        (nn.Tanh(), np.tanh(x)),
        (nn.GELU(), x * (1 + erf(x / math.sqrt(2))) / 2),
        (nn.GELU("tanh"), tanh_gelu),
        (nn.Softmax(1), softmax),
        (nn.LogSoftmax(1), np.log(softmax)),
        (nn.Softmax(dim=0), np.exp(x) / np.exp(x).sum(0)),
        (nn.Identity(), x),
        (nn.Flatten(), x),
        (nn.Flatten(0), x.ravel()),
    ]:
        assert np.allclose(layer(tensor(x)).numpy(), wanted, atol=1e-6), layer


@pytest.mark.parametrize("shape", [4, (3, 4)])
def test_layer_norm(shape):
    x, layer = random(2, 3, 4), nn.LayerNorm(shape)
    axes = (-1,) if shape == 4 else (-2, -1)
    wanted = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    assert np.allclose(layer(tensor(x)).detach().numpy(), wanted, atol=1e-5)
    assert nn.LayerNorm(4, bias=False).bias is None
    assert not list(nn.LayerNorm(4, elementwise_affine=False).parameters())
    with pytest.raises(ValueError, match=r"\(5,\).*\(2, 3, 4\)"):
        nn.LayerNorm(5)(tensor(x))


def test_embedding_and_its_padding_row():
    layer = nn.Embedding(5, 3, padding_idx=-1)
    assert layer.weight[4].tolist() == [0, 0, 0]
    index = dougong.tensor([[0, 4], [1, 0]])
    assert layer(index).shape == (2, 2, 3)
    layer(index).sum().backward()
    assert layer.weight.grad.sum(1).tolist() == [6, 3, 0, 0, 0]
    with pytest.raises(ValueError, match="padding_idx 7"):
        nn.Embedding(5, 3, padding_idx=7)


def test_dropout_scales_what_it_keeps_and_does_nothing_in_eval():
    dougong.manual_seed(0)
    x = dougong.ones(100, 100)
    layer = nn.Dropout(0.25)
    y = layer(x).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.02
    assert layer.eval()(x) is x
    assert (F.dropout(x, 1.0) == 0).numpy().all()
    with pytest.raises(ValueError, match=r"1\.5"):
        nn.Dropout(1.5)


def test_dropout_drops_the_same_on_the_way_back_and_after_the_same_seed():
    x = dougong.ones(1000, requires_grad=True)
    dougong.manual_seed(1)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), y.detach().numpy())
    dougong.manual_seed(1)
    assert F.dropout(dougong.ones(1000, dtype=dougong.float16), 0.5).tolist() == y.tolist()


# -- losses --------------------------------------------------------------------------------------------------------


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


@pytest.mark.parametrize("shape", [(5,), (4, 5), (4, 5, 3), (2, 5, 3, 2)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(shape, reduction, smoothing, weighted):
    """PyTorch's formula: the mean divides by the weights of the targets, ignored ones count nowhere."""
    axis = 0 if len(shape) == 1 else 1
    x = random(*shape)
    target = np.asarray(rng(1).integers(0, 5, shape[:axis] + shape[axis + 1 :]))
    target = np.where(rng(2).uniform(size=target.shape) < 0.2, -100, target) if target.ndim else target
    weight = np.linspace(0.5, 2, 5).astype(np.float32) if weighted else np.ones(5, np.float32)
    logs = np.moveaxis(log_softmax(x, axis), axis, -1)
    valid, safe = target != -100, np.maximum(target, 0)
    picked = -np.take_along_axis(logs, safe[..., None], -1)[..., 0] * weight[safe] * valid
    smooth = -(logs * weight).sum(-1) * valid / 5
    each = (1 - smoothing) * picked + smoothing * smooth
    wanted = {"none": each, "sum": each.sum(), "mean": each.sum() / (weight[safe] * valid).sum()}[reduction]
    loss = nn.CrossEntropyLoss(tensor(weight) if weighted else None, reduction=reduction, label_smoothing=smoothing)
    assert np.allclose(loss(tensor(x), dougong.tensor(target)).numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_cross_entropy_gradient_with_more_axes():
    x = random(2, 5, 3)
    target = rng(1).integers(0, 5, (2, 3))
    leaf = tensor(x, requires_grad=True)
    F.cross_entropy(leaf, dougong.tensor(target)).backward()
    wanted = np.exp(log_softmax(x, 1)) - np.moveaxis(np.eye(5)[target], -1, 1)
    assert np.allclose(leaf.grad.numpy(), wanted / 6, atol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_of_probabilities(reduction):
    x, p = random(4, 5), rng(1).dirichlet(np.ones(5), 4).astype(np.float32)
    each = -(log_softmax(x, 1) * p).sum(1)
    wanted = {"none": each, "mean": each.mean(), "sum": each.sum()}[reduction]
    assert np.allclose(F.cross_entropy(tensor(x), tensor(p), reduction=reduction).numpy(), wanted, rtol=1e-5)


def test_cross_entropy_refuses_targets_that_do_not_fit():
    with pytest.raises(ValueError, match=r"\(4, 5\).*\(4,\).*\(3,\)"):
        F.cross_entropy(dougong.zeros(4, 5), dougong.zeros(3, dtype=dougong.int64))
    with pytest.raises(ValueError):
        F.cross_entropy(dougong.zeros(4, 5), dougong.zeros(4))
    with pytest.raises(IndexError):
        F.cross_entropy(dougong.zeros(1, 5), dougong.tensor([5]))


def test_mse_loss_warns_where_shapes_differ():
    a, b = random(3, 1), random(3, 1, seed=1)
    assert np.isclose(nn.MSELoss()(tensor(a), tensor(b)).item(), ((a - b) ** 2).mean())
    assert np.isclose(F.mse_loss(tensor(a), tensor(b), "sum").item(), ((a - b) ** 2).sum())
    assert F.mse_loss(tensor(a), tensor(b), "none").shape == (3, 1)
    with pytest.warns(UserWarning, match=r"\(3, 1\).*\(3,\)"):
        F.mse_loss(tensor(a), tensor(b[:, 0]))
    with pytest.raises(ValueError, match="average"):
        F.mse_loss(tensor(a), tensor(b), "average")


# -- functions -----------------------------------------------------------------------------------------------------


def attention(q, k, v, keep=None, bias=0.0):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + bias
    scores = scores if keep is None else np.where(keep, scores, -np.inf)
    seen = np.isfinite(scores).any(-1, keepdims=True)
    e = np.exp(np.where(seen, scores - scores.max(-1, keepdims=True, initial=-1e30), -np.inf))
    return e / np.where(seen, e.sum(-1, keepdims=True), 1) @ v


def test_attention_plain_masked_and_causal():
    q, k, v = (random(2, 3, 5, 4, seed=i) for i in range(3))
    keep = rng(3).uniform(size=(5, 5)) < 0.5
    keep[2] = False
    tensors = [tensor(x) for x in (q, k, v)]
    run = F.scaled_dot_product_attention
    bias = np.where(keep, random(5, 5), -np.inf).astype(np.float32)
    for found, wanted in [
        (run(*tensors), attention(q, k, v)),
        (run(*tensors, attn_mask=dougong.tensor(keep)), attention(q, k, v, keep)),
        (run(*tensors, attn_mask=dougong.tensor(bias)), attention(q, k, v, bias=bias)),
        (run(*tensors, is_causal=True), attention(q, k, v, np.tril(np.ones((5, 5), bool)))),
        (run(*tensors, scale=1.0), attention(q * 2, k, v)),
    ]:
        assert np.allclose(found.numpy(), wanted, atol=1e-5)
    with pytest.raises(ValueError, match="either"):
        run(*tensors, attn_mask=dougong.tensor(keep), is_causal=True)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_query_that_sees_no_key_gives_zero_forward_and_backward(kind):
    q, k, v = (tensor(random(3, 4, seed=i), requires_grad=True) for i in range(3))
    keep = dougong.tensor([[True, True, False], [False, False, False], [True, False, True]])
    mask = keep if kind == "bool" else dougong.where(keep, dougong.zeros(3, 3), dougong.full((3, 3), -math.inf))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert out[1].tolist() == [0, 0, 0, 0]
    out.sum().backward()
    for leaf in (q, k, v):
        assert np.isfinite(leaf.grad.numpy()).all()
    assert q.grad[1].tolist() == [0, 0, 0, 0]
    assert np.abs(q.grad[0].numpy()).max() > 0


def test_causal_attention_of_many_rows_has_no_nan():
    x = tensor(random(2, 12, 71, 8))
    assert np.isfinite(F.scaled_dot_product_attention(x, x, x, is_causal=True).numpy()).all()


def test_pad_counts_axes_from_the_last():
    x = random(2, 3)
    assert np.array_equal(F.pad(tensor(x), (1, 2)).numpy(), np.pad(x, ((0, 0), (1, 2))))
    wanted = np.pad(x, ((3, 0), (1, 2)), constant_values=7)
    assert np.array_equal(F.pad(tensor(x), (1, 2, 3, 0), value=7).numpy(), wanted)
    with pytest.raises(ValueError, match=r"3 for shape \(2, 3\)"):
        F.pad(tensor(x), (1, 2, 3))


def test_one_hot():
    index = dougong.tensor([[0, 2], [1, 1]])
    assert np.array_equal(F.one_hot(index).numpy(), np.eye(3, dtype=np.int64)[index.numpy()])
    assert F.one_hot(index, 5).shape == (2, 2, 5)
    with pytest.raises(IndexError):
        F.one_hot(index, 2)
