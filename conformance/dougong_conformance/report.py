"""The verdicts of a run, and the files made of them."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from . import LEVELS, VERDICTS
from .case import Case


@dataclass
class Result:
    """A case and its verdict."""

    case: Case
    verdict: str
    error: str = ""
    detail: str = ""
    wants: str = ""
    seconds: float = 0.0
    fallbacks: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    repro: str = ""

    def as_json(self) -> dict[str, Any]:
        case = self.case
        fields = {"id": case.id, "level": case.level, "verdict": self.verdict, "rules": list(case.rules)}
        fields |= {"error": self.error or None, "seconds": round(self.seconds, 4)}
        extra = {"detail": self.detail, "notes": self.notes, "repro": self.repro}
        return fields | {key: value for key, value in extra.items() if value}


@dataclass
class Report:
    """What a run found. Cases without a result are not_run, for the reason ``pending``."""

    device: str
    plugin: dict[str, str]
    cases: list[Case]
    results: dict[str, Result] = field(default_factory=dict)
    pending: str = "the run was interrupted"

    def add(self, result: Result) -> None:
        self.results[result.case.id] = result

    def all_results(self) -> list[Result]:
        """A result for each case, in the order of the ladder."""
        return [self.results.get(case.id) or Result(case, "not_run", self.pending) for case in self.cases]

    def counts(self, level: str | None = None) -> dict[str, int]:
        found = Counter(r.verdict for r in self.all_results() if level in (None, r.case.level))
        return {verdict: found[verdict] for verdict in VERDICTS}

    def levels(self) -> list[str]:
        present = {case.level for case in self.cases}
        return [level for level in LEVELS if level in present]

    def fallbacks(self) -> dict[str, int]:
        """Op to how often it ran on the host instead of the device, most first."""
        total: Counter[str] = Counter()
        for result in self.results.values():
            total.update(result.fallbacks)
        return dict(total.most_common())

    def failures(self) -> list[Result]:
        return [result for result in self.all_results() if result.verdict == "fail"]

    def exit_code(self) -> int:
        """0 all right, 1 failures, 2 could not judge: a case was not run, or none has passed or failed."""
        counts = self.counts()
        if counts["fail"]:
            return 1
        executed = counts["pass"] + counts["xfail"]
        return 2 if counts["not_run"] or not executed else 0

    def as_json(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "plugin": self.plugin,
            "counts": self.counts(),
            "levels": {level: self.counts(level) for level in self.levels()},
            "fallbacks": self.fallbacks(),
            "cases": [result.as_json() for result in self.all_results()],
        }

    def as_junit(self) -> str:
        root = ElementTree.Element("testsuites", name=f"dougong conformance {self.device}")
        for level in self.levels():
            self._add_junit_suite(root, level)
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)

    def _add_junit_suite(self, root: ElementTree.Element, level: str) -> None:
        results = [result for result in self.all_results() if result.case.level == level]
        counts = self.counts(level)
        skipped = len(results) - counts["pass"] - counts["fail"]
        attributes = {"tests": len(results), "failures": counts["fail"], "errors": 0, "skipped": skipped}
        attributes |= {"time": f"{sum(r.seconds for r in results):.3f}"}
        suite = ElementTree.SubElement(root, "testsuite", name=level, **{k: str(v) for k, v in attributes.items()})
        for result in results:
            _add_junit_case(suite, result)


def _add_junit_case(suite: ElementTree.Element, result: Result) -> None:
    attributes = {"classname": result.case.level, "name": result.case.id, "time": f"{result.seconds:.3f}"}
    element = ElementTree.SubElement(suite, "testcase", attributes)
    if result.verdict == "fail":
        failure = ElementTree.SubElement(element, "failure", message=_printable(result.error))
        failure.text = _printable("\n".join(filter(None, [result.detail, result.repro])))
    elif result.verdict != "pass":
        ElementTree.SubElement(element, "skipped", message=_printable(f"{result.verdict}: {result.error}"))


def _printable(text: str) -> str:
    """Without the control characters that XML forbids."""
    return "".join(c if c in "\n\t" or (ord(c) >= 32 and c not in "\ufffe\uffff") else "?" for c in text)


def write_json(path: str | os.PathLike, content: Any) -> None:
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: str | os.PathLike, text: str) -> None:
    """Replaces the file in one step: a reader sees the old content or the new, never half of it."""
    path = Path(path)
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
