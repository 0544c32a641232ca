"""Checkpoints: what is saved comes back, files are small, safe to replace, and clear about what is wrong."""

from __future__ import annotations

import json
import math
import os
import struct

import dougong
import ml_dtypes
import numpy as np
import pytest
from dougong import nn, optim
from safetensors.numpy import load_file, save_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.safetensors"


def round_trip(obj, path):
    dougong.save(obj, path)
    return dougong.load(path)


DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(path, dtype):
    x = dougong.tensor([[1, 0, 2], [3, 0, 1]], dtype=getattr(dougong, dtype))
    y = round_trip({"x": x}, path)["x"]
    assert y.dtype == x.dtype
    assert y.tolist() == x.tolist()
    assert y.device == x.device


def test_views_save_their_own_elements_only(path):
    base = dougong.arange(100_000).float()
    views = {
        "transposed": base.reshape(100, 1000)[:3, :5].T,
        "strided": base[:10:2],
        "slice": base[3:5],
        "expanded": base[7].expand(2, 3),
        "reversed": base[:4][::-1],
        "scalar": base[9],
        "empty": base[:0],
    }
    loaded = round_trip(views, path)
    for name, view in views.items():
        assert loaded[name].shape == view.shape
        assert loaded[name].tolist() == view.tolist()
    assert path.stat().st_size < 2500


def test_bool_of_any_byte_is_true(path):
    raw = np.array([0, 1, 255], np.uint8)
    x = dougong.from_numpy(raw.view(bool))
    assert round_trip({"x": x}, path)["x"].tolist() == [False, True, True]
    assert path.read_bytes()[-3:] == b"\0\1\1"


def test_one_tensor_under_two_names_is_saved_once_and_tied_again(path):
    x = dougong.zeros(1000)
    loaded = round_trip({"a": x, "b": x, "same view": x[:], "other view": x[1:]}, path)
    assert loaded["a"] is loaded["b"]
    assert loaded["a"] is loaded["same view"]
    assert loaded["other view"].data_ptr() != loaded["a"].data_ptr() + 4
    assert path.stat().st_size < 9500


def test_empty_tensors_are_not_tied(path):
    loaded = round_trip({"a": dougong.zeros(0), "b": dougong.zeros(0)}, path)
    assert loaded["a"] is not loaded["b"]


def test_nested_state_comes_back_with_its_types(path):
    state = {
        "model": {"0.weight": dougong.ones(2), "0": {"weight": dougong.zeros(2)}},
        "list": [1, 2.5, "text", None, True, (1, 2), dougong.tensor(3)],
        "floats": [math.inf, -math.inf, math.nan, 0.1],
        "int keys": {0: {"step": 5}, 1: {}},
        (1, "a"): "tuple key",
        "dtype": dougong.bfloat16,
        "numpy": np.float32(0.5),
        "__metadata__": dougong.ones(1),
        "": 2**62,
    }
    loaded = round_trip(state, path)
    assert loaded["model"]["0.weight"].tolist() == [1, 1]
    assert loaded["model"]["0"]["weight"].tolist() == [0, 0]
    assert loaded["list"][:6] == [1, 2.5, "text", None, True, (1, 2)]
    assert loaded["list"][6].item() == 3
    assert loaded["floats"][:2] == [math.inf, -math.inf]
    assert math.isnan(loaded["floats"][2])
    assert loaded["floats"][3] == 0.1
    assert loaded["int keys"] == {0: {"step": 5}, 1: {}}
    assert loaded[(1, "a")] == "tuple key"
    assert loaded["dtype"] is dougong.bfloat16
    assert loaded["numpy"] == 0.5
    assert loaded["__metadata__"].tolist() == [1]
    assert loaded[""] == 2**62
    assert list(loaded) == list(state)


def test_a_bare_tensor_and_a_bare_number(path):
    assert round_trip(dougong.ones(2), path).tolist() == [1, 1]
    assert round_trip(5, path) == 5


def test_model_and_optimizer_state(path):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    optimizer = optim.Adam(model.parameters(), betas=(0.8, 0.9))
    model(dougong.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": dougong.get_rng_state()}
    loaded = round_trip(state, path)
    assert loaded["model"]["0.weight"] is loaded["model"]["1.weight"]
    assert loaded["optimizer"]["param_groups"][0]["betas"] == (0.8, 0.9)
    assert loaded["rng"] == dougong.get_rng_state()
    other = optim.Adam(model.parameters())
    other.load_state_dict(loaded["optimizer"])
    assert other.state[model[0].weight]["exp_avg"].tolist() == optimizer.state[model[0].weight]["exp_avg"].tolist()


def test_parameters_come_back_as_tensors_without_history(path):
    loaded = round_trip({"p": nn.Parameter(dougong.ones(1)), "y": dougong.ones(1, requires_grad=True) * 2}, path)
    assert type(loaded["p"]) is dougong.Tensor
    assert not loaded["p"].requires_grad
    assert loaded["y"].tolist() == [2]


# -- other readers and writers -------------------------------------------------------------------------------------


def test_the_reference_implementation_reads_our_files(path):
    dougong.save({"a": dougong.arange(6).reshape(2, 3), "b.c": dougong.ones(3, dtype=dougong.float16)}, path)
    loaded = load_file(path)
    assert loaded["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert loaded["b.c"].dtype == np.float16


def test_we_read_files_of_the_reference_implementation(path):
    save_file({"a": np.arange(3), "b": np.ones((2, 0), np.float32)}, path, metadata={"format": "np"})
    loaded = dougong.load(path)
    assert loaded["a"].tolist() == [0, 1, 2]
    assert loaded["b"].shape == (2, 0)


def test_nothing_is_ever_pickled(path):
    for bad in (object(), nn.Linear(1, 1), {1, 2}, b"bytes", lambda: 0, np.ones(2)):
        with pytest.raises(TypeError, match=r"a\.0 is of type"):
            dougong.save({"a": [bad]}, path)
    with pytest.raises(TypeError, match="key of type"):
        dougong.save({object(): 1}, path)
    assert not path.exists()
    assert ml_dtypes  # bfloat16 arrays come from it


# -- replacing a file ----------------------------------------------------------------------------------------------


def test_failure_half_way_keeps_the_old_file_and_leaves_nothing_behind(path, monkeypatch):
    dougong.save({"x": dougong.ones(2)}, path)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        dougong.save({"x": dougong.zeros(1000)}, path)
    monkeypatch.undo()
    assert dougong.load(path)["x"].tolist() == [1, 1]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_mode_of_the_old_file_and_symbolic_links_are_kept(path, tmp_path):
    dougong.save(1, path)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    dougong.save(2, link)
    assert link.is_symlink()
    assert dougong.load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o640


def test_missing_folder_and_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        dougong.save(1, tmp_path / "no" / "file")
    with pytest.raises(FileNotFoundError):
        dougong.load(tmp_path / "nothing")


# -- damaged files -------------------------------------------------------------------------------------------------


def file_with(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "cut off"),
        (b"\x80\x04\x95", "cut off"),
        (b"PK\3\4 a zip or a pickle of another framework", "no safetensors file"),
        (file_with(b"{}" * 10), "no JSON"),
        (file_with([1]), "no JSON object"),
        (struct.pack("<Q", 2**63) + b"{}", "cut off"),
        (file_with({"x": entry()}, b"123"), "cut off"),
        (file_with({"x": entry()}, b"12345"), "cut off"),
        (file_with({"x": entry(offsets=(0, 8))}, b"12345678"), "needs 4 bytes"),
        (file_with({"x": entry(offsets=(4, 8))}, b"12345678"), "begins at"),
        (file_with({"x": entry(), "y": entry()}, b"1234"), "begins at"),
        (file_with({"x": entry(dtype="F6")}, b"1234"), "F6"),
        (file_with({"x": entry(shape=(-1,))}, b"1234"), "natural numbers"),
        (file_with({"x": entry(shape=(1.0,))}, b"1234"), "natural numbers"),
        (file_with({"x": {"dtype": "F32"}}), "incomplete"),
        (file_with({"x": 1}), "incomplete"),
        (file_with({"__metadata__": {"dougong": "{"}}), "damaged"),
        (file_with({"__metadata__": {"dougong": json.dumps({"version": 9, "devices": {}})}}), "version 9"),
    ],
)
def test_damaged_file_is_refused_with_the_reason(path, content, text):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=text) as error:
        dougong.load(path)
    assert str(path) in str(error.value)


def test_every_cut_of_a_file_is_noticed(path):
    dougong.save({"x": dougong.ones(3), "y": [1, 2]}, path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError):
            dougong.load(path)


# -- devices -------------------------------------------------------------------------------------------------------


def saved_on(path, device: str) -> None:
    dougong.save({"x": dougong.ones(2)}, path)
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"]["dougong"] = header["__metadata__"]["dougong"].replace("cpu:0", device)
    path.write_bytes(file_with(header, content[8 + length :]))


@pytest.mark.parametrize("device", ["nothere:0", "cpux:0", "cpu2:0"])
def test_file_of_a_plugin_that_is_not_installed_says_which_and_loads_on_the_cpu(path, device):
    saved_on(path, device)
    with pytest.raises(dougong.DougongError, match=rf'{device}.*"{device[:-2]}".*device="cpu"'):
        dougong.load(path)
    assert dougong.load(path, device="cpu")["x"].device == dougong.device("cpu:0")


def test_device_names_are_never_matched_by_prefix(path, named):
    for name in ("acme", "acme2", "acmex"):
        dougong.load_plugin(named(name))
    for name in ("acme2:0", "acmex:0", "acme:0"):
        x = dougong.ones(2, device=name)
        loaded = round_trip({"x": x}, path)["x"]
        assert str(loaded.device) == name
        assert loaded.tolist() == [1, 1]
    assert str(dougong.load(path, device="acmex:0")["x"].device) == "acmex:0"
