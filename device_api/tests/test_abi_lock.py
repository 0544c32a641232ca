"""The lock sees what breaks a plugin that was built before, and what does not."""

import importlib.util
import shutil
from pathlib import Path

import pytest

DEVICE_API = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("lock", DEVICE_API / "abi" / "lock.py")
lock = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lock)

TAIL = "  const void *(*get_extension)(void *context, const char *id);\n"


@pytest.fixture
def tree(tmp_path):
    """A copy of the headers and their lock, to change."""
    shutil.copytree(DEVICE_API / "include", tmp_path / "include")
    shutil.copy(DEVICE_API / "abi" / "dg_device.abi", tmp_path)
    return tmp_path


def check(tree, *more):
    return lock.main(["--include", str(tree / "include"), "--lock", str(tree / "dg_device.abi"), *more])


def change(tree, header, old, new):
    path = tree / "include" / "dougong" / header
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_the_headers_are_as_locked(capsys):
    assert lock.main([]) == lock.SAME, capsys.readouterr().out


def test_layouts_are_equal_in_c_and_cplusplus():
    assert lock.dump(DEVICE_API / "include", "c++", "c++") == lock.dump(DEVICE_API / "include", "cc", "c")


def test_a_field_inserted_in_the_middle_is_broken_even_for_write(tree, capsys):
    change(tree, "dg_device.h", "  const char *vendor;", "  int64_t inserted;\n  const char *vendor;")
    assert check(tree) == lock.BROKEN
    assert "dg_plugin_t.vendor changed" in capsys.readouterr().out
    assert check(tree, "--write") == lock.BROKEN
    assert (tree / "dg_device.abi").read_text() == (DEVICE_API / "abi" / "dg_device.abi").read_text()


def test_a_field_removed_is_broken(tree, capsys):
    change(tree, "dg_device.h", TAIL, "")
    assert check(tree) == lock.BROKEN
    assert "dg_plugin_t.get_extension is gone" in capsys.readouterr().out


def test_a_parameter_of_a_slot_changed_is_broken(tree):
    change(tree, "dg_device.h", "(void *context, int32_t *out_count)", "(void *context, int64_t *out_count)")
    assert check(tree) == lock.BROKEN


def test_a_parameter_may_get_another_name(tree):
    change(tree, "dg_device.h", "(void *context, int32_t *out_count)", "(void *context, int32_t *out_devices)")
    assert check(tree) == lock.SAME


def test_a_value_changed_is_broken(tree):
    change(tree, "dg_types.h", "DG_STATUS_TIMED_OUT = 8,", "DG_STATUS_TIMED_OUT = 18,")
    assert check(tree) == lock.BROKEN


def test_a_slot_appended_is_a_decision_and_then_the_promise(tree):
    change(tree, "dg_device.h", TAIL, TAIL + "  void (*appended)(void *context);\n")
    assert check(tree) == lock.APPENDED
    assert check(tree, "--write") == lock.SAME
    assert check(tree) == lock.SAME


def test_a_field_in_the_padding_at_the_end_is_broken(tree, capsys):
    change(tree, "dg_ops.h", "} dg_argmax_attributes_t;", "  int32_t hidden;\n} dg_argmax_attributes_t;")
    assert check(tree) == lock.BROKEN
    assert "lies inside the old dg_argmax_attributes_t" in capsys.readouterr().out


def test_a_struct_without_size_never_grows(tree):
    change(tree, "dg_types.h", "  uint64_t byte_offset;\n", "  uint64_t byte_offset;\n  uint64_t more;\n")
    assert check(tree) == lock.BROKEN


def test_another_major_may_move_everything(tree):
    change(tree, "dg_device.h", TAIL, "")
    change(tree, "dg_types.h", "#define DG_ABI_MAJOR 1", "#define DG_ABI_MAJOR 2")
    assert check(tree) == lock.BROKEN
    assert check(tree, "--write") == lock.SAME


def test_without_a_compiler_nothing_was_checked(tree, monkeypatch, capsys):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert check(tree) == lock.CANNOT_CHECK
    assert "no-such-compiler" in capsys.readouterr().err


def test_headers_that_do_not_compile_were_not_checked(tree):
    change(tree, "dg_device.h", TAIL, TAIL + "  unknown_t *field;\n")
    assert check(tree) == lock.CANNOT_CHECK


def test_a_declaration_that_is_not_understood_was_not_checked(tree):
    change(tree, "dg_device.h", TAIL, TAIL + "  int64_t one, two;\n")
    assert check(tree) == lock.CANNOT_CHECK


def test_a_missing_or_damaged_lock_was_not_checked(tree):
    (tree / "dg_device.abi").write_text("nonsense\n")
    assert check(tree) == lock.CANNOT_CHECK
    (tree / "dg_device.abi").unlink()
    assert check(tree) == lock.CANNOT_CHECK
