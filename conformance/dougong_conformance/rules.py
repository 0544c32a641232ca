"""The rules of device_api/SPEC.md: their ids and texts, and whether each has a case.

`python -m dougong_conformance.rules` checks; exit code 0 all right, 1 a rule without a case or a case with an unknown
rule, 3 could not check.
"""

from __future__ import annotations

import re
import sys

from . import header
from .case import load_cases

RULE = re.compile(r"^- \*\*([A-Z]{3}-\d{3})\*\* (.+)$", re.MULTILINE)
COULD_NOT_CHECK = 3


def read() -> dict[str, str]:
    """Rule id to text. Raises header.NotFound if the specification is not there."""
    path = header.find("device_api/SPEC.md", "dougong/SPEC.md")
    rules = dict(RULE.findall(path.read_text(encoding="utf-8")))
    if not rules:
        raise header.NotFound(f"{path} has no line that begins like '- **MEM-004** '")
    return rules


def check() -> list[str]:
    """One sentence for each rule that no case proves, and for each case that cites no rule or an unknown one."""
    rules, cases = read(), load_cases()
    proven = {rule for case in cases for rule in case.rules}
    problems = [f"{rule} has no case: {text}" for rule, text in rules.items() if rule not in proven]
    for case in cases:
        unknown = [rule for rule in case.rules if rule not in rules]
        if unknown or not case.rules:
            problems.append(f"{case.id} cites {', '.join(unknown) or 'no rule'}")
    return problems


def main() -> int:
    try:
        problems = check()
    except Exception as error:  # a checker that cannot run must not read as a verdict
        print(f"could not check: {type(error).__name__}: {error}", file=sys.stderr)
        return COULD_NOT_CHECK
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
