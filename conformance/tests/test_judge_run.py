"""The runner: verdicts, reports, exit codes, and life with hostile plugins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from judging import HERE, build, command

FILLS = {f"memory/fill/pattern-{size}" for size in (1, 2, 4, 8, 16)} | {"memory/fill/pattern-read"}
SOME = ("--case", "memory/fill/*", "--case", "memory/copy/*/64")
ONE = ("--case", "memory/fill/pattern-1")


def test_a_correct_synchronous_plugin_passes_the_lower_levels(host: Path, judge) -> None:
    judged = judge(host, "--level", "abi", "--level", "memory", "--level", "stream")
    assert judged.failed() == set()
    assert judged.code == 0
    assert judged.report["levels"]["memory"]["pass"] > 70
    assert judged.verdicts()["stream/query/tells-the-truth"] == "unsupported"
    assert judged.error("stream/query/tells-the-truth") == "the plugin is synchronous: stream slots are null"


def test_a_correct_asynchronous_plugin_passes_the_lower_levels(queue: Path, judge) -> None:
    judged = judge(queue, "--level", "abi", "--level", "memory", "--level", "stream")
    assert judged.failed() == set()
    assert judged.code == 0
    assert judged.report["levels"]["stream"]["pass"] > 25


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("segfault", "the process died of SIGSEGV"),
        ("abort", "the process died of SIGABRT"),
        ("exit", "the plugin ended the process with exit code 0"),
    ],
)
def test_a_crash_fails_the_case_that_it_was_in_and_the_run_goes_on(host, judge, monkeypatch, what, error) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", what)
    judged = judge(host, *SOME)
    assert judged.failed() == FILLS
    assert {judged.error(case) for case in FILLS} == {error}
    assert judged.report["counts"] == {"pass": 7, "fail": 6, "unsupported": 0, "xfail": 0, "not_run": 0}
    assert judged.code == 1


def test_a_hang_fails_its_case_after_the_deadline(host: Path, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "hang")
    judged = judge(host, *ONE, "--case", "memory/copy/*/64", "--deadline", "1")
    assert judged.failed() == {"memory/fill/pattern-1"}
    assert judged.error("memory/fill/pattern-1") == "exceeded its deadline of 1 s"
    assert judged.report["counts"]["pass"] == 7


def test_a_case_that_hangs_again_and_again_does_not_cost_its_deadline_for_ever(host, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "hang")
    monkeypatch.setattr("dougong_conformance.run.PATIENCE", 80)
    judged = judge(host, "--case", "memory/fill/*", "--deadline", "0.5")
    assert judged.report["counts"]["fail"] == 2
    assert judged.report["counts"]["not_run"] == 4
    assert judged.code == 1


def test_what_a_plugin_prints_is_not_taken_for_a_verdict(host: Path, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "noise")
    assert judge(host, *SOME).code == 0


def test_a_wrong_result_is_reported_with_its_place_and_a_command(host: Path, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    judged = judge(host, *ONE)
    case = judged.report["cases"][0]
    assert case["error"] == "1 patterns of 1 bytes at offset 0: byte 0 is wrong, and 1 of 8 bytes in all"
    assert case["repro"] == f"dougong conformance repro memory/fill/pattern-1 host:0 --plugin {host}"
    assert case["repro"] in judged.output


def test_a_plugin_that_does_not_open_is_failed_by_level_abi_and_not_run_above(host, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "initialize")
    judged = judge(host, "--level", "abi", "--case", "abi/device/*", "--level", "memory", "--case", "memory/fill/*")
    assert judged.code == 1
    assert judged.error("abi/device/count").endswith("the driver was not found, code 42")
    assert {judged.verdicts()[case] for case in FILLS} == {"not_run"}
    assert "the driver was not found, code 42" in judged.error("memory/fill/pattern-1")


def test_a_plugin_that_crashes_on_opening_cannot_be_judged_by_level_memory(host, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "initialize-crash")
    judged = judge(host, "--level", "memory")
    assert judged.code == 2
    assert judged.error("memory/fill/pattern-1") == "the plugin does not open: the process died of SIGABRT"


def test_the_report_has_exactly_the_promised_keys(host: Path, judge) -> None:
    report = judge(host, *SOME).report
    assert list(report) == ["device", "plugin", "counts", "levels", "fallbacks", "cases"]
    assert report["device"] == "host:0"
    assert set(report["plugin"]) == {"name", "version", "sha256"}
    assert (report["plugin"]["name"], report["plugin"]["version"]) == ("host", "1.2.3")
    assert len(report["plugin"]["sha256"]) == 64
    counts = ["pass", "fail", "unsupported", "xfail", "not_run"]
    assert list(report["counts"]) == counts and list(report["levels"]["memory"]) == counts
    assert report["fallbacks"] == {}
    for case in report["cases"]:
        assert list(case)[:5] == ["id", "level", "verdict", "rules", "error"]


def test_the_junit_report_counts_as_the_json_does(host: Path, judge, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    judged = judge(host, *SOME, "--case", "memory/info/*", "--junit", str(tmp_path / "junit.xml"))
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite.attrib["name"] == "memory"
    assert int(suite.attrib["tests"]) == len(judged.report["cases"]) == len(suite.findall("testcase"))
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == 6
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped")) == 2


def test_nothing_selected_cannot_be_judged(host: Path, judge) -> None:
    judged = judge(host, "--case", "memory/no-such-case")
    assert judged.code == 2
    assert "no case matches 'memory/no-such-case'" in judged.output


def test_a_run_in_which_every_case_is_unsupported_is_no_success(host: Path, judge) -> None:
    judged = judge(host, "--case", "stream/event/*")
    assert judged.report["counts"]["unsupported"] == len(judged.report["cases"]) > 10
    assert judged.code == 2


@pytest.mark.parametrize("device", ["host:", "host:-1", "host:1x", "host:00", "HOST:0", ""])
def test_a_malformed_device_string_cannot_be_judged(host: Path, device: str) -> None:
    result = command("run", device, "--plugin", str(host))
    assert result.exit_code == 2
    assert "is no device string" in result.output


def test_a_device_that_is_not_there_cannot_be_judged(host: Path) -> None:
    result = command("run", "host:7", "--plugin", str(host), "--level", "abi")
    assert result.exit_code == 2
    assert "there is no device host:7: the plugin has 1" in result.output


def test_a_bug_of_the_judge_reads_as_could_not_judge(host: Path, monkeypatch) -> None:
    monkeypatch.setattr("dougong_conformance.cli.load_cases", lambda *_: 1 / 0)
    result = command("run", "host:0", "--plugin", str(host))
    assert result.exit_code == 2
    assert "a bug of the judge" in result.output and "ZeroDivisionError" in result.output


def test_a_library_of_another_device_cannot_be_judged(host: Path) -> None:
    result = command("run", "acme:0", "--plugin", str(host), "--level", "abi")
    assert result.exit_code == 2
    assert "calls itself 'host'" in result.output


def test_an_expected_failure_is_xfail(host: Path, judge, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    expect = tmp_path / "expect.toml"
    expect.write_text('xfail = [{case = "memory/fill/*", reason = "driver 2.1 repairs it"}]')
    judged = judge(host, *SOME, "--expect", str(expect))
    assert judged.code == 0
    assert judged.report["counts"]["xfail"] == 6
    assert judged.error("memory/fill/pattern-1").startswith("driver 2.1 repairs it (")


def test_an_unexpected_pass_is_a_failure(host: Path, judge, tmp_path: Path) -> None:
    expect = tmp_path / "expect.toml"
    expect.write_text('xfail = [{case = "memory/fill/pattern-1", reason = "driver 2.1 repairs it"}]')
    judged = judge(host, *SOME, "--expect", str(expect))
    assert judged.code == 1
    assert judged.failed() == {"memory/fill/pattern-1"}
    assert "unexpected pass" in judged.error("memory/fill/pattern-1")


def test_the_manifest_beside_the_library_is_used(host: Path, judge, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    library = tmp_path / host.name
    library.write_bytes(host.read_bytes())
    (tmp_path / "plugin.toml").write_text('name = "host"\nxfail = [{case = "memory/fill/*", reason = "soon"}]')
    assert judge(library, *SOME).report["counts"]["xfail"] == 6
    (tmp_path / "plugin.toml").write_text('name = "other"\nxfail = [{case = "memory/fill/*", reason = "soon"}]')
    assert judge(library, *SOME).report["counts"]["xfail"] == 0


@pytest.mark.parametrize("content", ['xfail = [{case = "memory/*"}]', "xfail = 3", "xfail = [", 'xfail = ["memory/*"]'])
def test_an_expectation_without_a_reason_is_refused(host: Path, judge, tmp_path: Path, content: str) -> None:
    expect = tmp_path / "expect.toml"
    expect.write_text(content)
    judged = judge(host, *SOME, "--expect", str(expect))
    assert judged.code == 2
    assert "expect.toml" in judged.output


def test_an_interrupted_run_leaves_what_it_has(host: Path, tmp_path: Path) -> None:
    report = _run_and_signal(host, tmp_path, signal.SIGINT)
    assert report["counts"]["pass"] >= 1
    assert report["counts"]["not_run"] >= 1
    assert {case["error"] for case in report["cases"] if case["verdict"] == "not_run"} == {"the run was interrupted"}


def test_a_terminated_run_leaves_what_it_has(host: Path, tmp_path: Path) -> None:
    assert _run_and_signal(host, tmp_path, signal.SIGTERM)["counts"]["not_run"] >= 1


def _run_and_signal(host: Path, tmp_path: Path, number: int) -> dict:
    """Runs the judge on a slow plugin in a process of its own, and signals it when the first file is there."""
    path = tmp_path / "report.json"
    words = ["run", "host:0", "--plugin", str(host), "--json", str(path), "--case", "memory/*/64", *SOME]
    environment = {**os.environ, "DG_TEST_FAULT": "slow", "PYTHONPATH": str(HERE.parent)}
    process = subprocess.Popen(
        [sys.executable, "-m", "dougong_conformance", *words], env=environment, stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(30) == 2
    return json.loads(path.read_text())


def test_repro_runs_the_case_again_from_a_device_or_a_report(host: Path, judge, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    judge(host, *ONE)
    for source in (["host:0", "--plugin", str(host)], [str(tmp_path / "report.json")]):
        result = command("repro", "memory/fill/pattern-1", *source)
        assert result.exit_code == 1
        assert "fail: 1 patterns of 1 bytes at offset 0" in result.output
    monkeypatch.delenv("DG_TEST_FAULT")
    assert command("repro", "memory/fill/pattern-1", "host:0", "--plugin", str(host)).exit_code == 0


def test_diff_names_what_became_worse_and_what_became_better(host: Path, judge, monkeypatch, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    judge(host, *SOME, "--json", str(good))
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    judge(host, *SOME, "--json", str(bad))
    worse = command("diff", str(good), str(bad))
    assert worse.exit_code == 1
    assert "memory/fill/pattern-1: pass -> fail  1 patterns of 1 bytes" in worse.output
    assert "6 cases no longer pass" in worse.output
    assert command("diff", str(bad), str(good)).exit_code == 0
    assert command("diff", str(good), str(good)).output.startswith("0 cases no longer pass")


def test_diff_refuses_what_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1, 2]")
    result = command("diff", str(tmp_path / "a.json"), str(tmp_path / "a.json"))
    assert result.exit_code == 2
    assert "is no report of this judge" in result.output


def test_the_next_step_is_the_lowest_thing_missing(host: Path, judge) -> None:
    output = judge(host, "--level", "abi", "--level", "memory").output
    assert "next: write dg_device_api_t.device_get_kernels" in output


def test_the_next_step_after_a_failure_is_to_repair_it(host: Path, judge, monkeypatch) -> None:
    monkeypatch.setenv("DG_TEST_FAULT", "wrong-fill")
    assert "next: repair: 1 patterns of 1 bytes" in judge(host, *ONE).output


def test_jobs_do_not_change_the_verdicts(host: Path, judge) -> None:
    one = judge(host, "--level", "abi", "--jobs", "1").verdicts()
    assert judge(host, "--level", "abi", "--jobs", "4").verdicts() == one


def test_a_library_that_exports_more_than_its_entry_is_caught(judge, tmp_path: Path) -> None:
    (tmp_path / "open.c").write_text(f'#include "{HERE}/plugins/host.c"\nint vendor_helper(void) {{ return 1; }}\n')
    library = build(tmp_path / "open.c", tmp_path / "libdg_host.so", "-fvisibility=default")
    judged = judge(library, "--case", "abi/library/one-export")
    assert judged.failed() == {"abi/library/one-export"}
    wanted = "1 symbols besides dg_plugin_entry_v1 are exported: vendor_helper"
    assert judged.error("abi/library/one-export") == wanted
