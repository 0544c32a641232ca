"""The specification is well formed: ids are unique, counted without a gap, and every citation leads to a rule."""

import re
from collections import Counter
from itertools import groupby
from pathlib import Path

DEVICE_API = Path(__file__).resolve().parents[1]
RULE = re.compile(r"^- \*\*([A-Z]{3}-\d{3})\*\* (.+)$", re.MULTILINE)
CITATION = re.compile(r"\b(?:ABI|DEV|MEM|STR|EVT|KRN|OPS|RUN)-\d{3}\b")
RULES = RULE.findall((DEVICE_API / "SPEC.md").read_text(encoding="utf-8"))


def test_ids_are_unique():
    counts = Counter(rule for rule, _ in RULES)
    assert [rule for rule, count in counts.items() if count > 1] == []


def test_ids_ascend_from_one_in_each_group():
    for group, rules in groupby((rule for rule, _ in RULES), key=lambda rule: rule[:3]):
        numbers = [int(rule[4:]) for rule in rules]
        assert numbers[0] == 1 and numbers == sorted(set(numbers)), group


def test_every_rule_is_a_sentence():
    assert [rule for rule, text in RULES if not text.endswith(".")] == []


def test_headers_cite_rules_that_exist():
    known = {rule for rule, _ in RULES}
    for header in (DEVICE_API / "include").rglob("*.h"):
        assert set(CITATION.findall(header.read_text(encoding="utf-8"))) <= known, header.name
