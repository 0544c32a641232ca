"""Convolution, pooling, interpolation and padding as functions and as layers."""

from __future__ import annotations

import copy

import dougong
import numpy as np
import pytest
from dougong import nn
from dougong.nn import functional as F

# ---- right values, taken from PyTorch 2.13 -----------------------------------------------------------------------


def numbers(*shape: int) -> np.ndarray:
    """Small integers of both signs."""
    return (np.arange(int(np.prod(shape)), dtype=np.float64) * 7 % 11 - 5).reshape(shape)


# fmt: off
CASES = [
    (lambda n: F.conv1d(n(1, 2, 6), n(2, 2, 3), n(2), padding="same", dilation=2), (1, 2, 6),
     [5, -20, 33, 19, -14, -26, 26, -33, -1, 44, -17, 36]),
    (lambda n: F.conv1d(n(2, 6), n(2, 1, 2), stride=2, groups=2), (2, 3), [29, 20, -11, -8, 23, -23]),
    (lambda n: F.conv3d(n(1, 1, 3, 3, 3), n(1, 1, 2, 2, 2), stride=(1, 2, 1), padding=(0, 1, 0)), (1, 1, 2, 2, 2),
     [32, -18, -19, -60, -11, -39, -25, 55]),
    (lambda n: F.conv_transpose1d(n(1, 2, 3), n(2, 2, 3), n(2), stride=2, padding=1, output_padding=1), (1, 2, 6),
     [-15, -21, -1, -15, -9, 11, -8, 5, 3, -28, 3, 23]),
    (lambda n: F.conv_transpose2d(n(1, 2, 2, 2), n(2, 1, 2, 2), stride=2, dilation=3, padding=1, output_padding=(2, 0),
                                  groups=2), (1, 2, 6, 4),
     [0, 0, 0, 0, 0, -25, -4, 0, 0, -4, -25, 0, 0, 0, 0, 0, 0, -10, -10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -12,
      0, 0, -12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    (lambda n: F.conv_transpose3d(n(1, 1, 2, 2, 1), n(1, 1, 2, 2, 2), n(1), padding=(0, 1, 0)), (1, 1, 3, 1, 2),
     [-5, -26, -44, -11, -8, -20]),
    (lambda n: F.max_pool1d(n(1, 9), 3, stride=2, padding=1, dilation=2, ceil_mode=True), (1, 4), [5, 5, 5, 0]),
    (lambda n: F.max_pool2d(n(1, 5, 5), 2, ceil_mode=True), (1, 3, 3), [4, 5, 3, 1, 4, 5, 3, 2, -2]),
    (lambda n: F.max_pool3d(n(1, 1, 4, 3, 4), 2, stride=(2, 1, 2)), (1, 1, 2, 2, 2), [4, 5, 4, 4, 5, 4, 4, 5]),
    (lambda n: F.avg_pool1d(n(1, 1, 7), 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), (1, 1, 4),
     [-1.5, 1.66666666667, 1, 0.5]),
    (lambda n: F.avg_pool2d(n(1, 1, 4, 5), (2, 3), padding=(1, 1), ceil_mode=True), (1, 1, 3, 2),
     [-0.5, 0.666666666667, -0.833333333333, 0.666666666667, -0.333333333333, 0]),
    (lambda n: F.avg_pool2d(n(1, 4, 4), 2, divisor_override=3), (1, 2, 2),
     [-1.66666666667, 2.33333333333, -0.333333333333, 0]),
    (lambda n: F.avg_pool3d(n(1, 1, 3, 3, 3), 2, padding=1, count_include_pad=False), (1, 1, 2, 2, 2),
     [-5, 0, 4.5, -1.5, 1.5, -1.75, 0, 0.875]),
    (lambda n: F.adaptive_avg_pool1d(n(1, 1, 7), 3), (1, 1, 3), [-1.66666666667, 1.33333333333, 0.666666666667]),
    (lambda n: F.adaptive_avg_pool2d(n(1, 5, 4), (2, None)), (1, 2, 4),
     [-2.66666666667, 0.666666666667, 0.333333333333, 0, -1.66666666667, 1.66666666667, 1.33333333333,
      -2.66666666667]),
    (lambda n: F.adaptive_max_pool1d(n(1, 1, 7), 4), (1, 1, 4), [2, 5, 5, 4]),
    (lambda n: F.adaptive_max_pool2d(n(1, 5, 4), (2, 3)), (1, 2, 3), [3, 4, 5, 4, 5, 5]),
    (lambda n: F.interpolate(n(1, 1, 4), size=6), (1, 1, 6), [-5, -5, 2, -2, -2, 5]),
    (lambda n: F.interpolate(n(1, 1, 2, 3), scale_factor=(2, 1.5), mode="nearest-exact"), (1, 1, 4, 4),
     [-5, 2, 2, -2, -5, 2, 2, -2, 5, 1, 1, -3, 5, 1, 1, -3]),
    (lambda n: F.interpolate(n(1, 1, 5), scale_factor=1.5, mode="linear"), (1, 1, 7),
     [-5, -1.5, 1.33333333333, -1.33333333333, 1.5, 4.33333333333, 1.66666666667]),
    (lambda n: F.interpolate(n(1, 1, 5), scale_factor=1.5, mode="linear", recompute_scale_factor=True), (1, 1, 7),
     [-5, -1, 0.857142857143, -2, 3, 3.28571428571, 1]),
    (lambda n: F.interpolate(n(1, 1, 3, 2), size=(5, 4), mode="bilinear"), (1, 1, 5, 4),
     [-5, -3.25, 0.25, 2, -3.8, -2.05, 1.45, 3.2, -2, -0.25, 3.25, 5, -0.2, -0.1, 0.1, 0.2, 1, 0, -2, -3]),
    (lambda n: F.interpolate(n(1, 1, 3, 2), size=(5, 4), mode="bilinear", align_corners=True), (1, 1, 5, 4),
     [-5, -2.66666666667, -0.333333333333, 2, -3.5, -1.16666666667, 1.16666666667, 3.5, -2, 0.333333333333,
      2.66666666667, 5, -0.5, -8.32667268469e-17, 0.5, 1, 1, -0.333333333333, -1.66666666667, -3]),
    (lambda n: F.interpolate(n(1, 1, 3, 4), scale_factor=0.7, mode="bicubic"), (1, 1, 2, 2),
     [-2.80281184491, -0.434523696082, -1.44887019765, 1.60405173041]),
    (lambda n: F.interpolate(n(1, 1, 3, 4), size=(4, 3), mode="bicubic", align_corners=True), (1, 1, 4, 3),
     [-5, 0, 5, -0.333333333333, 0.172453703704, 2.12962962963, 0.0925925925926, 1.03761574074, -2.12962962963,
      -4, 2.03125, -5]),
    (lambda n: F.interpolate(n(1, 1, 2, 2, 2), size=(3, 1, 2), mode="trilinear"), (1, 1, 3, 1, 2),
     [-3.5, 3.5, -0.5, 1, 2.5, -1.5]),
    (lambda n: F.interpolate(n(1, 1, 3, 5), size=(2, 3), mode="area"), (1, 1, 2, 3),
     [-0.5, 0.833333333333, 1.25, -1.25, -0.833333333333, 0.5]),
    (lambda n: F.pad(n(1, 2, 3), (2, 1), "reflect"), (1, 2, 6), [-2, 2, -5, 2, -2, 2, -3, 1, 5, 1, -3, 1]),
    (lambda n: F.pad(n(1, 1, 2, 3), (2, 0, 1, 1), "replicate"), (1, 1, 4, 5),
     [-5, -5, -5, 2, -2, -5, -5, -5, 2, -2, 5, 5, 5, 1, -3, 5, 5, 5, 1, -3]),
    (lambda n: F.pad(n(1, 1, 2, 3), (3, 1, 0, 2), "circular"), (1, 1, 4, 7),
     [-5, 2, -2, -5, 2, -2, -5, 5, 1, -3, 5, 1, -3, 5, -5, 2, -2, -5, 2, -2, -5, 5, 1, -3, 5, 1, -3, 5]),
    (lambda n: F.unfold(n(1, 2, 4, 3), (2, 2), dilation=(2, 1), padding=(1, 0), stride=(2, 1)), (1, 8, 4),
     [0, 0, 5, 1, 0, 0, 1, -3, 5, 1, 3, -1, 1, -3, -1, -5, 0, 0, 1, -3, 0, 0, -3, 4, 1, -3, -1, -5, -3, 4, -5,
      2]),
    (lambda n: F.fold(n(1, 4, 3), (4, 5), (2, 2), padding=(0, 1), stride=(2, 2), dilation=(2, 1)), (1, 1, 4, 5),
     [5, 2, 1, -2, -3, 0, 0, 0, 0, 0, 3, 0, -1, -4, -5, 0, 0, 0, 0, 0]),
    (lambda n: F.fold(n(1, 4, 6), (4, 5), (2, 2), padding=(1, 0), stride=(2, 2)), (1, 1, 4, 5),
     [2, 0, -2, -4, 0, -2, -4, 5, 3, 0, 5, 3, 1, -1, 0, 1, -1, -3, -5, 0]),
]
# fmt: on


@pytest.mark.parametrize(("call", "shape", "values"), CASES)
def test_gives_the_values_of_pytorch(call, shape, values):
    result = call(lambda *sizes: dougong.tensor(numbers(*sizes)))
    assert result.shape == shape
    np.testing.assert_allclose(result.numpy().ravel(), values, rtol=1e-9, atol=1e-12)


# ---- what else they promise ----------------------------------------------------------------------------------------


def ones(*shape: int) -> dougong.Tensor:
    return dougong.ones(shape)


def gradient(function, x: np.ndarray) -> np.ndarray:
    leaf = dougong.tensor(x, requires_grad=True)
    function(leaf).sum().backward()
    return leaf.grad.numpy()


def test_transposed_convolution_is_the_adjoint_of_convolution():
    x, y, weight = numbers(1, 2, 5, 7), numbers(1, 3, 3, 3), dougong.tensor(numbers(3, 2, 2, 3))
    forward = F.conv2d(dougong.tensor(x), weight, stride=2, padding=(1, 0)).numpy()
    back = F.conv_transpose2d(dougong.tensor(y), weight, stride=2, padding=(1, 0), output_padding=(1, 0)).numpy()
    assert (forward * y).sum() == (back * x).sum()


def test_fold_adds_up_what_unfold_took():
    x = numbers(2, 2, 5, 4)
    columns = F.unfold(dougong.tensor(x), 2)
    times = F.fold(F.unfold(ones(1, 1, 5, 4), 2), (5, 4), 2).numpy()
    assert np.array_equal(F.fold(columns, (5, 4), 2).numpy(), x * times)
    assert times.max() == 4 and times.min() == 1


def test_gradients_of_pads_count_how_often_an_element_is_used():
    x = np.ones((1, 1, 4))
    assert gradient(lambda t: F.pad(t, (3, 1), "reflect"), x).tolist() == [[[1, 2, 3, 2]]]
    assert gradient(lambda t: F.pad(t, (3, 1), "replicate"), x).tolist() == [[[4, 1, 1, 2]]]
    assert gradient(lambda t: F.pad(t, (3, 1), "circular"), x).tolist() == [[[2, 2, 2, 2]]]


def test_every_element_keeps_its_weight_in_an_enlarged_image():
    x = numbers(1, 1, 3, 4)
    np.testing.assert_allclose(gradient(lambda t: F.interpolate(t, scale_factor=2), x), 4.0)
    for corners in (False, True):
        share = gradient(lambda t, c=corners: F.interpolate(t, size=(6, 8), mode="bicubic", align_corners=c), x)
        np.testing.assert_allclose(share.sum(), 48.0)


def test_half_precision_is_rounded_once_after_both_axes():
    x = np.random.default_rng(0).normal(size=(1, 1, 6, 5)).astype(np.float16)
    exact = F.interpolate(dougong.tensor(x.astype(np.float32)), size=(7, 9), mode="bicubic").numpy()
    found = F.interpolate(dougong.tensor(x), size=(7, 9), mode="bicubic")
    assert found.dtype == dougong.float16
    assert np.array_equal(found.numpy(), exact.astype(np.float16))


def test_windows_that_hold_padding_alone_are_refused():
    with pytest.raises(ValueError, match="padding alone"):
        F.max_pool2d(ones(1, 1, 1, 4), (2, 1), stride=1, padding=(1, 0), dilation=(2, 1))
    with pytest.raises(ValueError, match="padding alone"):
        F.max_pool1d(ones(1, 1, 2), 2, stride=1, padding=1, dilation=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.conv_transpose2d(ones(1, 1, 2, 2), ones(1, 1, 2, 2), stride=2, output_padding=2), "output_padding"),
        (lambda: F.conv_transpose1d(ones(1, 1, 1), ones(1, 1, 2), padding=1), "cut away"),
        (lambda: F.avg_pool2d(ones(1, 1, 4, 4), 2, divisor_override=0), "divisor_override"),
        (lambda: F.adaptive_avg_pool2d(ones(1, 1, 4, 4), (1, 2, 3)), "output_size"),
        (lambda: F.adaptive_max_pool1d(ones(1, 1, 4), 0), "output_size"),
        (lambda: F.pad(ones(1, 3), (3, 0), "reflect"), "reflect needs one more"),
        (lambda: F.pad(ones(1, 3), (1, 0), "mirror"), "'mirror'"),
        (lambda: F.pad(ones(1, 3), (1, 0), "reflect", 1.0), "value"),
        (lambda: F.interpolate(ones(1, 1, 3), mode="bilinear", size=4), "4 axes"),
        (lambda: F.interpolate(ones(1, 1, 3), size=4, align_corners=True), "align_corners"),
        (lambda: F.interpolate(ones(1, 1, 3)), "either size or scale_factor"),
        (lambda: F.interpolate(ones(1, 1, 3), size=0), "size must be positive"),
        (lambda: F.fold(ones(1, 4, 5), 4, 2), "fold: input must be"),
    ],
)
def test_arguments_are_checked(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- layers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "shape", "wanted"),
    [
        (lambda: nn.Conv1d(2, 4, 3, padding=1), (1, 2, 6), (1, 4, 6)),
        (lambda: nn.Conv3d(2, 4, 2, stride=2, groups=2), (1, 2, 4, 4, 4), (1, 4, 2, 2, 2)),
        (lambda: nn.ConvTranspose1d(2, 3, 4, stride=2), (1, 2, 5), (1, 3, 12)),
        (lambda: nn.ConvTranspose2d(2, 3, 2, stride=2), (1, 2, 3, 4), (1, 3, 6, 8)),
        (lambda: nn.ConvTranspose3d(2, 4, 2, groups=2), (1, 2, 2, 2, 2), (1, 4, 3, 3, 3)),
        (lambda: nn.MaxPool1d(2), (1, 2, 7), (1, 2, 3)),
        (lambda: nn.MaxPool3d(2, ceil_mode=True), (1, 2, 3, 3, 3), (1, 2, 2, 2, 2)),
        (lambda: nn.AvgPool1d(3, stride=1, padding=1), (1, 2, 7), (1, 2, 7)),
        (lambda: nn.AvgPool2d(2), (1, 2, 4, 6), (1, 2, 2, 3)),
        (lambda: nn.AvgPool3d(2), (1, 2, 4, 4, 4), (1, 2, 2, 2, 2)),
        (lambda: nn.AdaptiveAvgPool1d(3), (1, 2, 8), (1, 2, 3)),
        (lambda: nn.AdaptiveAvgPool2d((None, 1)), (2, 3, 5, 6), (2, 3, 5, 1)),
        (lambda: nn.AdaptiveMaxPool1d(3), (1, 2, 8), (1, 2, 3)),
        (lambda: nn.AdaptiveMaxPool2d(2), (2, 3, 5, 6), (2, 3, 2, 2)),
        (lambda: nn.Upsample(scale_factor=2), (1, 1, 3, 4), (1, 1, 6, 8)),
        (lambda: nn.ReflectionPad2d((1, 2, 0, 1)), (1, 1, 3, 3), (1, 1, 4, 6)),
        (lambda: nn.ReplicationPad3d(1), (1, 1, 2, 2, 2), (1, 1, 4, 4, 4)),
        (lambda: nn.CircularPad1d((2, 0)), (1, 1, 3), (1, 1, 5)),
        (lambda: nn.ZeroPad2d(1), (1, 1, 2, 2), (1, 1, 4, 4)),
        (lambda: nn.ConstantPad1d(1, 7.0), (1, 1, 2), (1, 1, 4)),
        (lambda: nn.Unfold(2), (1, 2, 3, 3), (1, 8, 4)),
        (lambda: nn.Fold((3, 3), 2), (1, 8, 4), (1, 2, 3, 3)),
    ],
)
def test_layers_give_the_shape_and_a_gradient(layer, shape, wanted):
    x = dougong.tensor(numbers(*shape).astype(np.float32), requires_grad=True)
    y = layer()(x)
    assert y.shape == wanted
    y.sum().backward()
    assert x.grad.shape == shape and np.isfinite(x.grad.numpy()).all()


def test_transposed_layer_reaches_the_size_that_is_wanted():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
    x = ones(1, 1, 4, 5)
    assert layer(x).shape == (1, 1, 7, 9)
    assert layer(x, output_size=(8, 9)).shape == (1, 1, 8, 9)
    with pytest.raises(ValueError, match=r"between \[7, 9\] and \[8, 10\]"):
        layer(x, output_size=(9, 9))


@pytest.mark.parametrize(("mode", "named"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_convolution_continues_images_by_its_padding_mode(mode, named):
    layer = nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode=mode)
    bare = copy.deepcopy(layer)
    bare.padding, bare.padding_mode = (0, 0), "zeros"
    x = numbers(1, 1, 4, 5).astype(np.float32)
    continued = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)), mode=named)
    with dougong.no_grad():
        assert np.array_equal(layer(dougong.tensor(x)).numpy(), bare(dougong.tensor(continued)).numpy())


def test_layers_say_what_they_are_made_of():
    assert repr(nn.Conv1d(2, 4, 3, padding_mode="reflect")) == (
        "Conv1d(2, 4, kernel_size=(3,), stride=(1,), padding=(0,), dilation=(1,), padding_mode='reflect', groups=1, "
        "bias=True)"
    )
    assert repr(nn.ConvTranspose1d(2, 4, 3, bias=False)) == (
        "ConvTranspose1d(2, 4, kernel_size=(3,), stride=(1,), padding=(0,), output_padding=(0,), dilation=(1,), "
        "groups=1, bias=False)"
    )
    assert repr(nn.AvgPool2d(2, divisor_override=3)) == (
        "AvgPool2d(kernel_size=2, stride=2, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=3)"
    )
    assert repr(nn.ReflectionPad1d(2)) == "ReflectionPad1d((2, 2))"
    assert repr(nn.Upsample(size=3)) == "Upsample(size=3, mode='nearest')"


def test_weights_of_convolutions_lie_within_one_over_the_root_of_fan_in():
    dougong.manual_seed(0)
    for layer in (nn.Conv1d(4, 8, 9), nn.ConvTranspose2d(8, 4, 3), nn.Conv3d(1, 9, (4, 3, 3))):
        weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        assert 0.9 / 6 < np.abs(weight).max() <= 1 / 6
        assert np.abs(bias).max() <= 1 / 6
