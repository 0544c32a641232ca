"""A device is a string, and never a prefix of one."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import dougong
import pytest


@pytest.fixture(scope="module", autouse=True)
def plugins(named: Callable[..., Path]) -> None:
    for name in ("str", "str2", "strx", "cpustr"):
        dougong.load_plugin(named(name, "DEVICES=2"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("str", "str:0"),
        ("str:0", "str:0"),
        ("str:1", "str:1"),
        ("str2", "str2:0"),
        ("cpustr:1", "cpustr:1"),
        ("cpu", "cpu:0"),
    ],
)
def test_good_strings(text: str, name: str) -> None:
    assert dougong.device(text).name == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("str:", "the index is missing"),
        ("str:-1", "not a number without a sign"),
        ("str:+1", "not a number without a sign"),
        ("str:1x", "not a number without a sign"),
        ("str: 1", "not a number without a sign"),
        ("str:0:0", "not a number without a sign"),
        ("str:00", "a leading zero"),
        ("str:99999999999999999999", "so many devices"),
        ("STR:0", "lower-case"),
        ("", "the name is missing"),
        (":0", "the name is missing"),
        (" str", "lower-case"),
        ("str\n", "lower-case"),
        ("str\0", "lower-case"),
        ("s" * 32, "lower-case"),
        ("å:0", "lower-case"),
    ],
)
def test_bad_strings_say_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(dougong.InvalidArgumentError, match="is no device string") as caught:
        dougong.device(text)
    assert reason in str(caught.value)
    assert isinstance(caught.value, ValueError) and caught.value.status == 2


def test_an_index_out_of_range_says_what_there_is() -> None:
    with pytest.raises(
        dougong.InvalidArgumentError, match=r"there is no device str:999: str has 2 devices, str:0 to str:1"
    ):
        dougong.device("str:999")


@pytest.mark.parametrize("text", ["st", "st:0", "str3", "strx2:0", "cp"])
def test_a_name_is_never_matched_by_its_beginning(text: str) -> None:
    with pytest.raises(dougong.InvalidArgumentError, match=r"known here: .*cpu.*str, str2, strx.*dougong doctor"):
        dougong.device(text)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="a device is a string like"):
        dougong.device(0)


def test_a_device_is_one_object() -> None:
    device = dougong.device("str:1")
    assert device is dougong.device("str:1") is dougong.device(device)
    assert repr(device) == "dougong.device('str:1')" and str(device) == "str:1"
    assert (device.type, device.index, device.name) == ("str", 1, "str:1")
    assert device == dougong.device("str:1") and device != dougong.device("str:0") and device != "str:1"
    assert {device: 1}[dougong.device("str:1")] == 1
    assert pickle.loads(pickle.dumps(device)) is device and copy.deepcopy(device) is device


def test_the_current_device_is_of_the_thread_and_the_plugin() -> None:
    dougong.set_device("str:1")
    try:
        assert dougong.device("str").index == 1
        assert dougong.device("str2").index == 0
        seen = []
        thread = threading.Thread(target=lambda: seen.append(dougong.device("str").index))
        thread.start()
        thread.join()
        assert seen == [0]
    finally:
        dougong.set_device("str:0")


def test_the_default_device_is_where_tensors_are_made() -> None:
    assert dougong.device(None).name == "cpu:0"
    dougong.set_default_device("str:1")
    try:
        assert dougong.zeros(2).device.name == "str:1"
    finally:
        dougong.set_default_device(None)
    assert dougong.zeros(2).device.name == "cpu:0"


def test_counts_and_names() -> None:
    assert dougong.device_count("str") == 2
    assert {"cpu", "str", "str2"} <= set(dougong.device_names())
    with pytest.raises(dougong.InvalidArgumentError, match="there is no device"):
        dougong.device_count("nothing_here")
