"""Random state: the same numbers for the same seed, whatever the device, and state that can be kept."""

from __future__ import annotations

import dougong
import numpy as np
import pytest


def philox_block(seed: int, counter: int) -> list[int]:
    """Philox 4x32-10 (Salmon et al., 2011), written from the paper."""
    mask = 2**32 - 1
    c = [counter & mask, counter >> 32, 0, 0]
    k = [seed & mask, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def test_uniform_is_philox_by_counter():
    dougong.manual_seed(2**40 + 17)
    dougong.rand(5)
    found = dougong.rand(6).numpy()
    words = [w for counter in (2, 3) for w in philox_block(2**40 + 17, counter)][:6]
    assert found.tolist() == [(w >> 8) * 2.0**-24 for w in words]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_lies_in_zero_to_below_one(dtype):
    dougong.manual_seed(0)
    x = dougong.rand(100_000, dtype=getattr(dougong, dtype)).double().numpy()
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 0.01
    assert abs(x.var() - 1 / 12) < 0.005


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_has_mean_zero_and_variance_one(dtype):
    dougong.manual_seed(0)
    x = dougong.randn(100_001, dtype=getattr(dougong, dtype)).double().numpy()
    assert np.isfinite(x).all()
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02


def test_each_draw_is_new_and_a_seed_brings_all_back():
    dougong.manual_seed(3)
    first, second = dougong.rand(8).tolist(), dougong.rand(8).tolist()
    assert first != second
    dougong.manual_seed(3)
    assert dougong.rand(8).tolist() == first
    dougong.manual_seed(4)
    assert dougong.rand(8).tolist() != first


def test_state_taken_mid_stream_continues_there():
    dougong.manual_seed(1)
    dougong.randn(7)
    state = dougong.get_rng_state()
    wanted = dougong.rand(9).tolist()
    dougong.manual_seed(99)
    dougong.set_rng_state(state)
    assert dougong.rand(9).tolist() == wanted
    assert dougong.initial_seed() == 99


def test_generator_of_its_own_leaves_the_default_alone():
    dougong.manual_seed(5)
    wanted = dougong.rand(4).tolist()
    dougong.manual_seed(5)
    own = dougong.Generator().manual_seed(5)
    assert dougong.rand(4, generator=own).tolist() == wanted
    assert dougong.rand(4).tolist() == wanted


def test_manual_seed_reaches_devices_that_are_used_later():
    dougong.manual_seed(6)
    assert dougong.default_generator("cpu:0").seed == 6


@pytest.mark.parametrize("seed", [-1, 2**64, "x"])
def test_seed_out_of_range_is_refused(seed):
    with pytest.raises(ValueError):
        dougong.manual_seed(seed)


def test_randperm_is_a_permutation():
    dougong.manual_seed(0)
    order = dougong.randperm(1000)
    assert sorted(order.tolist()) == list(range(1000))
    assert order.tolist() != list(range(1000))
    assert dougong.randperm(0).shape == (0,)


def test_random_fill_of_a_view_writes_the_view_and_nothing_else():
    buffer = dougong.full((6, 8), -7.0)
    for view in (buffer[:, ::2], buffer.T[1:3], buffer[3]):
        buffer.fill_(-7)
        dougong.nn.init.uniform_(view)
        values = view.numpy().ravel()
        assert ((values >= 0) & (values < 1)).all()
        assert len(set(values.tolist())) > values.size * 0.8
        assert (buffer.numpy() == -7).sum() == buffer.numel() - view.numel()
