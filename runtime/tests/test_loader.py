"""The loader refuses what does not fit with a sentence that names plugin, field, wanted, found and remedy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import dougong
import pytest

Named = Callable[..., Path]

API_FIELDS = """device_create device_destroy device_get_properties memory_allocate memory_free copy_host_to_device
copy_device_to_host"""

OTHER_EVENT_SLOTS = "".join(
    f"device_api.api.event_{slot}=(void*)any_slot;" for slot in ("destroy", "record", "query", "synchronize")
)

# What is refused before initialize, by the switches that make it so: the field, and what was found.
REFUSED_TABLES = {
    "plugin_size_zero": (["PLUGIN_SIZE=0"], "dg_plugin_t.struct_size", "found 0"),
    "plugin_size_short": (["PLUGIN_SIZE=24"], "dg_plugin_t.struct_size", "found 24"),
    "plugin_size_absurd": (["PLUGIN_SIZE=1<<21"], "dg_plugin_t.struct_size", "found 2097152"),
    "plugin_size_no_multiple": (["PLUGIN_SIZE=sizeof(dg_plugin_t)+1"], "dg_plugin_t.struct_size", "multiple of 8"),
    "plugin_size_all_ones": (["PLUGIN_SIZE=(size_t)-1"], "dg_plugin_t.struct_size", "found 18446744073709551615"),
    "api_size_zero": (["API_SIZE=0"], "dg_device_api_t.struct_size", "found 0"),
    "api_size_short": (
        ["API_SIZE=offsetof(dg_device_api_t, copy_device_to_host)"],
        "dg_device_api_t.struct_size",
        "found 72",
    ),
    "api_size_absurd": (["API_SIZE=1<<21"], "dg_device_api_t.struct_size", "found 2097152"),
    "api_null": (["CHANGE=plugin.plugin.device=0"], "dg_device_api_t", "null pointer"),
    "table_null": (["NULL_TABLE"], "dg_plugin_t", "null pointer"),
    "abi_of_another_major": (["ABI=2<<16"], "dg_plugin_t.abi_version", "major 2"),
    "entry_of_another_major": (["ENTRY=dg_plugin_entry_v2"], "entry symbol", "a plugin for major 2"),
    "no_entry": (["NO_ENTRY"], "entry symbol", "no symbol of that name"),
    "undefined_symbol": (["UNDEFINED_SYMBOL"], "version 1.0 of the device API", "vendor_function_of_a_missing_driver"),
    "initialize_null": (["CHANGE=plugin.plugin.initialize=0"], "dg_plugin_t.initialize", "null pointer"),
    "device_count_null": (["CHANGE=plugin.plugin.device_count=0"], "dg_plugin_t.device_count", "null pointer"),
    "name_null": (["CHANGE=plugin.plugin.name=0"], "dg_plugin_t.name", "null pointer"),
    "name_not_utf8": (['NAME="acm\\xff"'], "dg_plugin_t.name", '"acm\\xff", which is not UTF-8'),
    "name_empty": (['NAME=""'], "dg_plugin_t.name", '""'),
    "name_with_colon": (['NAME="acme:0"'], "dg_plugin_t.name", '"acme:0"'),
    "name_upper_case": (['NAME="Acme"'], "dg_plugin_t.name", '"Acme"'),
    "name_begins_with_digit": (['NAME="4cme"'], "dg_plugin_t.name", '"4cme"'),
    "name_too_long": ([f'NAME="{"a" * 32}"'], "dg_plugin_t.name", "a" * 32),
    "version_null": (["CHANGE=plugin.plugin.version=0"], "dg_plugin_t.version", "null pointer"),
    "version_empty": (['CHANGE=plugin.plugin.version=""'], "dg_plugin_t.version", "an empty text"),
    "vendor_not_utf8": (['CHANGE=plugin.plugin.vendor="\\xc3("'], "dg_plugin_t.vendor", "\\xc3("),
    "half_a_stream_group": (
        ["GROUP=stream_create"],
        "dg_device_api_t",
        "null: stream_destroy, stream_query, stream_synchronize",
    ),
    "half_an_event_group": (["GROUP=event_record"], "dg_device_api_t", "present: event_record"),
    "events_without_streams": (
        ["GROUP=event_create", f"CHANGE={OTHER_EVENT_SLOTS}"],
        "dg_device_api_t.event_create",
        "without stream slots",
    ),
    **{
        f"{field}_null": ([f"CHANGE=device_api.api.{field}=0"], f"dg_device_api_t.{field}", "null pointer")
        for field in API_FIELDS.split()
    },
}


def assert_names_everything(message: str, path: Path, field: str, found: str) -> None:
    for part in (str(path), field, "wanted", "found", found, "To do:"):
        assert part in message, f"{part!r} is missing in: {message}"


@pytest.mark.parametrize("case", REFUSED_TABLES)
def test_a_bad_table_is_refused_before_the_plugin_runs(compile_plugin: Named, capfd, monkeypatch, case: str) -> None:
    switches, field, found = REFUSED_TABLES[case]
    path = compile_plugin("plain", *switches)
    monkeypatch.setenv("PLAIN_TRACE", "1")
    names = dougong.device_names()
    with pytest.raises(dougong.IncompatibleError) as caught:
        dougong.load_plugin(path)
    assert_names_everything(str(caught.value), path, field, found)
    assert dougong.device_names() == names
    assert "initialized" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"#!/bin/sh\n" * 20, "not ELF"),
        (b"\x7fELF\x02", "cut off"),
        (None, "No such file"),
        ("folder", "a folder"),
    ],
)
def test_a_file_that_is_no_library_is_refused(tmp_path: Path, content: object, found: str) -> None:
    path = tmp_path / "libdg_bad.so"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "folder":
        path.mkdir()
    with pytest.raises(dougong.IncompatibleError) as caught:
        dougong.load_plugin(path)
    assert_names_everything(str(caught.value), path, "file", found)


def test_a_library_that_is_cut_off_is_refused(named: Named, tmp_path: Path) -> None:
    path = tmp_path / "libdg_cut.so"
    path.write_bytes(named("cut").read_bytes()[:2000])
    with pytest.raises(dougong.IncompatibleError, match=r"wanted .* found .* To do:"):
        dougong.load_plugin(path)


def test_an_executable_is_refused() -> None:
    with pytest.raises(dougong.IncompatibleError, match=r"wanted .* found .* To do:"):
        dougong.load_plugin(shutil.which("true"))


# What is refused once the plugin runs, when it is loaded or when its device is opened.
REFUSED_ANSWERS = {
    "count_negative": (["DEVICES=-1"], "device_count", "found -1"),
    "count_absurd": (["DEVICES=1000000000"], "device_count", "found 1000000000"),
    "count_over_the_limit": (["DEVICES=4097"], "device_count", "found 4097"),
    "device_null": (["HANDLE=0"], "device_create: out_device", "null pointer"),
    "alignment": (["PROPERTIES=p->alignment=48"], "dg_device_properties_t.alignment", "found 48"),
    "alignment_absurd": (
        ["PROPERTIES=p->alignment=1ull<<40"],
        "dg_device_properties_t.alignment",
        "found 1099511627776",
    ),
    "dtype": (
        ["PROPERTIES=static const dg_dtype_t d[]={DG_DTYPE_FLOAT32,77,0};p->dtypes=d"],
        "dg_device_properties_t.dtypes[1]",
        "found 0x0000004d",
    ),
    "priorities": (
        ["PROPERTIES=p->lowest_priority=1"],
        "dg_device_properties_t.lowest_priority",
        "lowest 1, highest 0",
    ),
    "chip_not_utf8": (['PROPERTIES=p->name="\\xff"'], "dg_device_properties_t.name", "\\xff"),
    "kernel_null": (["KERNELS=0"], "kernel 1, dg_kernel_t", "null pointer"),
    "kernel_size": (["KERNELS=&zero_size"], "kernel 1, dg_kernel_t.struct_size", "found 0"),
    "kernel_op": (["KERNELS=&null_op"], "kernel 1, dg_kernel_t.op", "null pointer"),
    "kernel_launch": (["KERNELS=&null_launch"], "kernel 1, dg_kernel_t of relu: launch", "null pointer"),
    "kernel_dtype": (["KERNELS=&bad_dtype"], "kernel 1, dg_kernel_t of relu: types[1]", "found 0x0000004d"),
    "kernel_alignment": (["KERNELS=&bad_alignment"], "kernel 1, dg_kernel_t of relu: alignment", "found 48"),
    "kernel_count": (
        ["KERNELS=&good", "KERNEL_COUNT=(size_t)-1"],
        "device_get_kernels: out_count",
        "found 18446744073709551615",
    ),
    "kernel_list": (["KERNELS=&good", "KERNEL_LIST=0"], "device_get_kernels: out_kernels", "null pointer"),
}


@pytest.mark.parametrize("case", REFUSED_ANSWERS)
def test_a_bad_answer_is_refused_again_and_again_with_the_same_sentence(named: Named, case: str) -> None:
    switches, field, found = REFUSED_ANSWERS[case]
    path = named(f"answer_{case}", *switches)
    messages = []
    for _ in range(2):
        with pytest.raises(dougong.IncompatibleError) as caught:
            dougong.load_plugin(path)
            dougong.device(f"answer_{case}:0")
        messages.append(str(caught.value))
    assert_names_everything(messages[0], path, field, found)
    assert messages[0] == messages[1]


def test_kernels_of_unknown_ops_are_ignored(named: Named) -> None:
    dougong.load_plugin(named("future_op", "KERNELS=&unknown_op"))
    x = dougong.tensor([-1.0, 2.0], device="future_op:0")
    assert dougong.ops.relu(x).numpy().tolist() == [0.0, 2.0]


def test_a_failing_initialize_keeps_its_first_sentence(named: Named) -> None:
    path = named("sorry", "FAIL_INITIALIZE")
    for use in (
        lambda: dougong.load_plugin(path),
        lambda: dougong.device("sorry:0"),
        lambda: dougong.load_plugin(str(path)),
    ):
        with pytest.raises(
            dougong.IncompatibleError, match=r"initialize failed with INCOMPATIBLE: driver not found 42"
        ) as caught:
            use()
        assert str(path) in str(caught.value)


def test_an_exception_out_of_initialize_is_a_failure(compile_plugin: Named) -> None:
    path = compile_plugin("throws", file="libdg_throws.so")
    for _ in range(2):
        with pytest.raises(dougong.InternalError, match="initialize let a C\\+\\+ exception out") as caught:
            dougong.load_plugin(path)
        assert str(path) in str(caught.value)


def test_an_unknown_status_is_a_failure(named: Named) -> None:
    with pytest.raises(
        dougong.InternalError, match=r"initialize returned the status 77, which is none of the device API"
    ):
        dougong.load_plugin(named("odd_status", "STATUS=77"))


def test_no_device_at_all_is_legal(named: Named) -> None:
    dougong.load_plugin(named("deviceless", "DEVICES=0"))
    assert dougong.device_count("deviceless") == 0
    with pytest.raises(dougong.InvalidArgumentError, match=r"there is no device deviceless:0.*no devices"):
        dougong.device("deviceless")


@pytest.mark.parametrize(
    ("name", "switches"),
    [
        ("older_api", ["API_SIZE=offsetof(dg_device_api_t, copy_device_to_device)"]),
        ("older_plugin", ["PLUGIN_SIZE=offsetof(dg_plugin_t, get_extension)"]),
        ("newer_api", ["API_SIZE=sizeof device_api"]),
        ("newer_plugin", ["PLUGIN_SIZE=sizeof plugin"]),
        ("newer_minor", ["ABI=DG_ABI_VERSION+7"]),
    ],
)
def test_plugins_of_other_minor_versions_work(named: Named, name: str, switches: list[str]) -> None:
    dougong.load_plugin(named(name, *switches))
    x = dougong.tensor([[1.0, 2.0], [3.0, 4.0]], device=f"{name}:0")
    assert (x.T + x).numpy().tolist() == [[2.0, 5.0], [5.0, 8.0]]


def test_optional_slots_that_are_null_have_their_default(named: Named) -> None:
    dougong.load_plugin(named("minimum"))
    device = dougong.device("minimum:0")
    assert device.memory_info() is None
    assert dougong.zeros(3, device=device).clone().numpy().tolist() == [0.0, 0.0, 0.0]
    dougong.Stream(device).synchronize()
    device.synchronize()


def test_one_file_by_any_path_is_one_registration(named: Named, tmp_path: Path, run_python) -> None:
    original = tmp_path / "libdg_acme.so"
    shutil.copy(named("acme"), original)
    (tmp_path / "sub").mkdir()
    os.symlink(original, tmp_path / "sub" / "libdg_acme.so")
    os.link(original, tmp_path / "hard.so")
    code = """
        import sys, dougong
        folder = sys.argv[1]
        dougong.device("acme:0")                                    # by DOUGONG_PLUGIN_PATH
        for path in ("libdg_acme.so", "sub/libdg_acme.so", "hard.so", "sub/../hard.so"):
            assert dougong.load_plugin(f"{folder}/{path}") == "acme"
        assert dougong._core._loaded_plugins() == ["acme"]
    """
    done = run_python(code, tmp_path, DOUGONG_PLUGIN_PATH=f"{tmp_path}:{tmp_path}/sub", PLAIN_TRACE="1")
    assert done.stderr.count("initialized") == 1


def test_a_second_library_of_a_name_is_refused_and_the_first_goes_on(named: Named, compile_plugin: Named) -> None:
    first = named("claimed")
    second = compile_plugin("plain", 'NAME="claimed"', file="libdg_other.so")
    dougong.load_plugin(first)
    x = dougong.tensor([1.0], device="claimed:0")
    with pytest.raises(dougong.IncompatibleError) as caught:
        dougong.load_plugin(second)
    assert_names_everything(str(caught.value), second, "dg_plugin_t.name", str(first))
    assert (x + x).numpy().tolist() == [2.0]
    assert (dougong.tensor([2.0], device="claimed:0") * 2).numpy().tolist() == [4.0]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_plugins_with_the_same_symbols_see_their_own(
    compile_plugin: Named, tmp_path: Path, run_python, order: tuple[int, int]
) -> None:
    libraries = [compile_plugin("plain", f"HELPER={i}", file=f"libdg_helper{i}.so") for i in order]
    clash = compile_plugin("plain", "HELPER=9", "NO_ENTRY", file="unrelated.so")
    code = """
        import ctypes, sys, dougong
        ctypes.CDLL(sys.argv[3], mode=ctypes.RTLD_GLOBAL)
        print(dougong.load_plugin(sys.argv[1]), dougong.load_plugin(sys.argv[2]))
    """
    assert run_python(code, *libraries, clash).stdout.split() == [f"helper{i}" for i in order]


def test_symbols_of_a_plugin_do_not_leak_into_the_process(named: Named, run_python) -> None:
    code = """
        import ctypes, sys, dougong
        dougong.load_plugin(sys.argv[1])
        assert not hasattr(ctypes.CDLL(None), "dg_plugin_entry_v1")
    """
    run_python(code, named("local"))


def test_the_log_of_a_plugin_goes_to_stderr_from_the_chosen_level_on(named: Named, run_python) -> None:
    code = "import sys, dougong; dougong.load_plugin(sys.argv[1])"
    assert "dougong: a line of the plugin" in run_python(code, named("chatty", "LOG")).stderr
    assert run_python(code, named("chatty", "LOG"), DOUGONG_LOG="error").stderr == ""
