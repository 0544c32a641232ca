"""Keeps the code in docs/*.md equal to the code that it is quoted from. Checks; `--write` brings it up to date.

A quote is a code block behind a comment, `<!-- quote FILE PART -->`, and holds what lies in FILE between the lines
`// [PART]` and `// [PART end]`, as the project acme has it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUOTE = re.compile(r"(<!-- quote (\S+) (\w+) -->\n```c\n)(.*?)(```\n)", re.DOTALL)


def part(file: str, name: str) -> str:
    """The part of a file between its markers. Raises ValueError where there is no such part."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"^// \[{name}\]\n(.*?)^// \[{name} end\]\n", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise ValueError(f"{file} has no part [{name}] ... [{name} end]")
    return found[1].replace("[[name]]", "acme")


def renew(text: str) -> str:
    """A page with every quote as its source has it now."""
    return QUOTE.sub(lambda match: match[1] + part(match[2], match[3]) + match[5], text)


def stale(folder: Path = ROOT / "docs") -> dict[Path, str]:
    """The pages whose quotes are not current, and what they should say."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))}
    return {path: renew(text) for path, text in pages.items() if renew(text) != text}


def main() -> int:
    pages = stale()
    for path, text in pages.items():
        if "--write" in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        else:
            print(f"{path.relative_to(ROOT)}: a quote differs from its source; run `make gen-write`")
    return 1 if pages and "--write" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
