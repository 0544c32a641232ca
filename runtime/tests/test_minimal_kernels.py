"""A GPT trains on a device with the kernels of docs/minimal_kernels.md and no others, and needs each of them."""

from __future__ import annotations

import re
from pathlib import Path

from dougong._paths import plugin_folders

PAGE = Path(__file__).parents[2] / "docs" / "minimal_kernels.md"

TRAIN = """
    import sys
    import dougong
    sys.path.insert(0, sys.argv[2])
    import gpt_of_primitives

    dougong.load_plugin(sys.argv[1])
    losses = gpt_of_primitives.train("subset:0", 12)
    assert losses[-1] < losses[0] / 4, losses
    assert dougong.fallbacks("subset:0") == {}
    for number, name in enumerate(sys.argv[3].split(","), start=1):
        try:
            gpt_of_primitives.train(f"subset:{number}", 1)
        except dougong.UnsupportedError as error:
            assert f"{name} has no kernel" in str(error) or f"without {name}," in str(error), error
        else:
            print(name)
"""


def kernels() -> list[str]:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return re.findall(r"`(\w+)`", "\n".join(rows))


def test_a_gpt_trains_with_the_kernels_of_the_page_and_needs_each_of_them(compile_plugin, run_python) -> None:
    names = ",".join(kernels())
    (base,) = (path for folder in plugin_folders() for path in Path(folder).glob("libdg_cpu.so"))
    library = compile_plugin("subset", f'BASE="{base}"', file="libdg_subset.so")
    unneeded = run_python(TRAIN, library, Path(__file__).parent, names, DG_SUBSET=names, timeout=60).stdout
    assert unneeded == "", f"the page lists kernels that the step does not need: {unneeded}"
