"""The suites: each rule has a case, each case is well formed, and planted faults are caught where they should be."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dougong_conformance import LEVELS, elf, header, rules
from dougong_conformance.case import Case, load_cases
from judging import HERE, build, command

LOWER = ("abi", "memory", "stream")


@functools.cache
def all_cases() -> list[Case]:
    return load_cases()


def test_case_ids_are_unique_and_typable() -> None:
    ids = [case.id for case in all_cases()]
    assert len(ids) == len(set(ids)) > 130
    assert [case_id for case_id in ids if not re.fullmatch(r"[a-z]+(/[a-z0-9][a-z0-9_.,+=-]*)+", case_id)] == []


def test_each_level_has_cases() -> None:
    assert {case.level for case in all_cases()} == set(LEVELS)


def test_a_level_without_cases_is_not_passed_over_in_silence(host: Path, judge, monkeypatch) -> None:
    monkeypatch.setattr("dougong_conformance.cli.LEVELS", ("abi", "stress"))
    judged = judge(host)
    assert judged.code == 2
    assert "level stress has no cases" in judged.output


def test_each_case_begins_with_its_level_and_says_what_it_asks() -> None:
    for case in all_cases():
        assert case.level in LEVELS and case.id.startswith(f"{case.level}/")
        assert case.summary, case.id


def test_the_list_of_cases_is_the_same_each_time() -> None:
    assert [case.id for case in load_cases()] == [case.id for case in all_cases()]


def test_each_rule_of_the_lower_levels_has_a_case() -> None:
    lower = {"ABI", "DEV", "MEM", "STR", "EVT"}
    proven = {rule for case in load_cases(LOWER) for rule in case.rules}
    assert sorted(rule for rule in rules.read() if rule[:3] in lower and rule not in proven) == []


def test_each_rule_has_a_case_and_each_case_a_rule() -> None:
    assert rules.check() == []


def test_the_rule_check_has_its_own_exit_code_for_could_not_check(tmp_path: Path) -> None:
    script = "from dougong_conformance import header, rules\nheader.find = 1 / 1\nraise SystemExit(rules.main())"
    done = subprocess.run([sys.executable, "-c", script], cwd=HERE.parent, capture_output=True, text=True)
    assert done.returncode == rules.COULD_NOT_CHECK
    assert "could not check" in done.stderr


def test_list_and_show_explain_a_case() -> None:
    listed = command("list", "--level", "memory").output.splitlines()
    assert "memory/allocate/huge  [MEM-003]" in listed
    shown = command("show", "memory/allocate/huge").output
    assert "MEM-003  An allocation that cannot be met" in shown
    assert "suites/memory.py:" in shown
    assert command("show", "memory/allocate/hug").exit_code == 2


def test_the_judge_reads_the_public_headers() -> None:
    ffi = header.ffi()
    assert ffi.offsetof("dg_plugin_t", "name") == 16
    assert header.constants().DG_STATUS_INTERNAL == 11
    assert header.names("DG_DTYPE_")[0x00012002] == "FLOAT32"


def test_exports_are_read_as_the_linker_sees_them(host: Path, tmp_path: Path) -> None:
    assert elf.exported_symbols(host) == ["dg_plugin_entry_v1"]
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(elf.NotElf):
        elf.exported_symbols(tmp_path / "text.so")


def test_the_levels_below_grad_do_not_load_the_runtime() -> None:
    script = (
        "import sys\nfrom dougong_conformance.case import load_cases\nfrom dougong_conformance import worker, native\n"
        f"load_cases({(*LOWER, 'kernel')!r})\nassert 'dougong' not in sys.modules, 'the judge loads what it judges'"
    )
    subprocess.run([sys.executable, "-c", script], cwd=HERE.parent, check=True)


TABLES = {
    "return NULL;": "abi/table/sizes",
    "plugin_copy.struct_size = 0;": "abi/table/sizes",
    "plugin_copy.struct_size = 1 << 20;": "abi/table/sizes",
    "device_copy.struct_size = 16;": "abi/table/sizes",
    "plugin_copy.device = NULL;": "abi/table/required-slots",
    "plugin_copy.initialize = NULL;": "abi/table/required-slots",
    "device_copy.memory_free = NULL;": "abi/table/required-slots",
    "device_copy.device_create = NULL;": "abi/table/required-slots",
    "device_copy.stream_create = (void *)1;": "abi/table/groups",
    "device_copy.event_elapsed = (void *)1;": "abi/table/groups",
    "plugin_copy.name = NULL;": "abi/table/names",
    'plugin_copy.name = "a:b";': "abi/table/names",
    'plugin_copy.name = "other";': "abi/table/names",
    'plugin_copy.name = "\\xff";': "abi/table/names",
    'plugin_copy.vendor = "\\xff";': "abi/table/names",
    'plugin_copy.version = "";': "abi/table/names",
    "plugin_copy.abi_version = 2u << 16;": "abi/table/names",
}

CHANGED = """
#define dg_plugin_entry_v1 original_entry
#include "HERE/plugins/host.c"
#undef dg_plugin_entry_v1
DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void);
const dg_plugin_t *dg_plugin_entry_v1(void) {
  static dg_plugin_t plugin_copy;
  static dg_device_api_t device_copy;
  plugin_copy = *original_entry();
  device_copy = *plugin_copy.device;
  plugin_copy.device = &device_copy;
  CHANGE
  return &plugin_copy;
}
"""


@pytest.mark.parametrize(("change", "case"), TABLES.items(), ids=list(TABLES))
def test_a_broken_table_is_a_failure_and_not_a_crash(judge, tmp_path: Path, change: str, case: str) -> None:
    source = tmp_path / "changed.c"
    source.write_text(CHANGED.replace("HERE", str(HERE)).replace("CHANGE", change))
    judged = judge(build(source, tmp_path / "libdg_host.so"), "--level", "abi", "--case", "abi/table/*")
    assert case in judged.failed()
    assert not any("Error" in judged.error(failed) for failed in judged.failed())
    assert judged.code == 1


def test_a_file_that_is_no_library_is_a_failure_of_level_abi(judge, tmp_path: Path) -> None:
    (tmp_path / "libdg_host.so").write_text("not a library")
    judged = judge(tmp_path / "libdg_host.so", "--level", "abi")
    assert judged.code == 1
    assert "libdg_host.so cannot be loaded" in judged.error("abi/table/sizes")


STREAM_FAULTS = {
    "wait-ignored": "stream/event/wait/holds",
    "wait-latest": "stream/event/wait/keeps-the-first",
    "record-once": "stream/event/covers-copies",
    "event-early": "stream/event/not-before-the-work",
    "unrecorded-not-ready": "stream/event/never-recorded",
    "elapsed-zero": "stream/event/elapsed/invalid",
    "query-lies": "stream/query/tells-the-truth",
    "synchronize-lies": "stream/synchronize/waits",
    "synchronize-all": "stream/synchronize/not-for-others",
    "device-synchronize-lies": "stream/synchronize/device",
    "callback-twice": "stream/callback/once-in-order",
    "pageable-late": "stream/order/pageable-source",
    "priority-refused": "stream/life/priorities",
}


FAULTS = {
    "count-changes": "abi/device/count",
    "any-index": "abi/device/bad-index",
    "unknown-status": "abi/error/known-statuses",
    "error-shared": "abi/error/per-thread",
    "no-sentence": "abi/error/sentence",
    "error-not-utf8": "abi/error/sentence",
    "properties-too-long": "abi/device/properties-size",
    "priorities": "abi/device/properties",
    "capabilities": "abi/device/properties",
    "alignment-odd": "abi/device/properties",
    "name-not-utf8": "abi/device/properties",
    "any-kind": "memory/allocate/unknown-kind",
    "huge-is-internal": "memory/allocate/huge",
    "huge-wraps": "memory/allocate/huge",
    "misaligned": "memory/allocate/alignment",
    "shared": "memory/allocate/distinct",
    "offset-ignored": "memory/copy/round-trip/65",
    "offset-in-words": "memory/copy/round-trip/65",
    "size-in-words": "memory/copy/round-trip/65",
    "reads-in-words": "memory/copy/host-stays-clean/65",
    "source-offset-ignored": "memory/copy/device/65",
    "wrong-fill": "memory/fill/pattern-8",
    "long-fill": "memory/fill/pattern-8",
}


@pytest.mark.parametrize(("fault", "case"), FAULTS.items())
def test_a_fault_is_caught(host: Path, judge, monkeypatch, fault: str, case: str) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", fault)
    judged = judge(host, "--case", case, "--deadline", "6")
    assert judged.failed() == {case}
    assert judged.code == 1


@pytest.mark.parametrize(("fault", "case"), STREAM_FAULTS.items())
def test_a_stream_fault_is_caught(queue: Path, judge, monkeypatch, fault: str, case: str) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", fault)
    judged = judge(queue, "--case", case, "--deadline", "6")
    assert judged.failed() == {case}
    assert judged.code == 1
