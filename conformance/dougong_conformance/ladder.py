"""The next step: what a vendor should write now, and the case that asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from .report import Report, Result


@dataclass(frozen=True)
class Step:
    what: str
    case: str


def next_step(report: Report) -> Step | None:
    """A failure comes before anything new, a lower level before a higher one, and the kernel that training missed most
    before other kernels. None when nothing is left to do."""
    failures = report.failures()
    if failures:
        return Step(f"repair: {failures[0].error}", failures[0].case.id)
    asking = [result for result in report.all_results() if result.verdict == "unsupported" and result.wants]
    if not asking:
        return None
    chosen = _missed_most(report, asking) if asking[0].case.level == "kernel" else None
    first = chosen or asking[0]
    return Step(f"write {first.wants}", first.case.id)


def _missed_most(report: Report, asking: list[Result]) -> Result | None:
    for op in report.fallbacks():
        for result in asking:
            if result.case.id.startswith(f"kernel/{op}/"):
                return result
    return None
