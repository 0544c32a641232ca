"""The judge catches every planted fault, and finds nothing wrong with the plugin that they are planted in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from dougong_conformance import mutants
from dougong_conformance.case import load_cases
from dougong_conformance.resolve import resolve
from judging import command

FAULTS = (*mutants.SYNCHRONOUS, *mutants.ASYNCHRONOUS)


def names_in_sources() -> set[str]:
    pattern = re.compile(r'^[^"\n]*\{"(\w+)",', re.MULTILINE)
    sources = mutants.sources_folder().glob("*_faults.cc")
    return {name for source in sources for name in pattern.findall(source.read_text(encoding="utf-8"))}


def test_each_fault_of_the_sources_is_planted_and_no_other() -> None:
    assert {fault.name for fault in FAULTS} == names_in_sources()
    assert len(FAULTS) == len(names_in_sources()) >= 40


def test_the_name_of_each_mutant_is_a_plugins_name() -> None:
    assert [f.name for f in FAULTS if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", f"mutant_{f.name}")] == []


def test_each_fault_is_looked_for_among_cases_that_there_are() -> None:
    everything = load_cases(mutants.LEVELS)
    assert [f.name for f in FAULTS for glob in f.look if not mutants.matching(everything, [glob])] == []


@pytest.mark.timeout(300)
def test_every_planted_fault_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "mutants.json"
    result = command("mutants", "--json", str(report))
    found = json.loads(report.read_text())
    with capsys.disabled():
        print(f"\n{result.output.splitlines()[-1]}")
    assert found["survivors"] == []
    assert found["unmutated"] == {}
    assert found["killed"] == found["planted"] == len(FAULTS)
    assert set(found["kills"]) == {fault.name for fault in FAULTS}
    assert result.exit_code == 0


def test_a_fault_that_nobody_looks_for_survives_and_fails_the_command(tmp_path: Path) -> None:
    nursery = mutants.Nursery(resolve("cpu:0", None).library, tmp_path)
    harmless = [case for case in load_cases(["abi"]) if case.id == "abi/library/same-table"]
    assert harmless
    fault = mutants.Fault("drops_nan", ("abi/library/same-table",))
    tally = mutants.judge(nursery, [fault], 1, everything=harmless)
    assert (tally.survivors, tally.kills, tally.clean) == (["drops_nan"], {}, False)


def test_a_wrapper_that_fails_without_a_fault_fails_the_command(tmp_path: Path) -> None:
    class Confused(mutants.Nursery):
        def grow(self, fault: str):
            return super().grow("any_memory_kind" if fault == mutants.UNMUTATED else fault)

    cases = [case for case in load_cases(["memory"]) if case.id == "memory/allocate/unknown-kind"]
    nursery = Confused(resolve("cpu:0", None).library, tmp_path)
    tally = mutants.judge(nursery, [mutants.Fault("any_memory_kind", ("memory/*",))], 1, everything=cases)
    assert tally.survivors == []
    assert set(tally.complaints) == {"memory/allocate/unknown-kind"}
    assert not tally.clean
