"""`python -m dougong`: the command line, and what builds ask for."""

from __future__ import annotations

import sys


def main() -> None:
    from . import _paths

    answers = {"--cmake-dir": _paths.get_cmake_dir, "--include-dir": _paths.get_include}
    if len(sys.argv) == 2 and sys.argv[1] in answers:
        print(answers[sys.argv[1]]())
        return
    from ._cli import main as command_line

    command_line(prog_name="dougong")


if __name__ == "__main__":
    main()
