"""The recipes of CONTRIBUTING.md, followed in a copy of the tree: an op is three files, a backend is one folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import cmake, environment, run

ROOT = Path(__file__).resolve().parents[2]

OP = """
op: square
summary: x * x.
since: "0.1"
family: elementwise
types:
  T: {dtypes: [numbers]}
inputs:
  x: T
outputs:
  y: {dtype: T}
grad:
  x: "dy * x * 2"
tolerance: {class: E}
"""

ORACLE = '''
"""The oracle of square."""


def square(x):
    return x * x
'''

KERNEL = """
#include "elementwise.h"

namespace dougong::cpu {

struct Square {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(x) * Wrapping<T>(x));
    else
      return x * x;
  }
};

extern const dg_kernel_t dg_kernel_square = unary<Square, Group::numbers>("square");

}  // namespace dougong::cpu
"""


@pytest.fixture
def tree(tmp_path):
    """The tracked files, of plugins only the host's, and of its kernels only one: the rest takes long to compile."""
    listed = run(["git", "ls-files", "-z"], cwd=ROOT).split("\0")
    for name in filter(None, listed):
        other_kernel = name.startswith("plugins/cpu/kernels/") and name.endswith(".cc") and not name.endswith("/neg.cc")
        if (ROOT / name).is_file() and not other_kernel:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def build(tree, target):
    pybind11 = run([sys.executable, "-m", "pybind11", "--cmakedir"]).strip()
    options = [f"-Dpybind11_DIR={pybind11}", f"-DPython_EXECUTABLE={sys.executable}"]
    run([*cmake(), "-S", tree, "-B", tree / "build", *options])
    run([*cmake(), "--build", tree / "build", "--target", target, "--parallel", "2"])
    return tree / "build" / "plugins" / f"lib{target}.so"


def judge(tree, device, library, *options):
    """The judge of the copy, in an environment where no other dougong can be meant."""
    python, site = environment(tree / "environment")
    (site / "dougong_conformance").symlink_to(tree / "conformance" / "dougong_conformance")
    (site / "dougong_kernels").symlink_to(tree / "kernels")
    command = [python, "-m", "dougong_conformance", "run", device, "--plugin", library, *options]
    return subprocess.run([str(word) for word in command], cwd=tree, capture_output=True, text=True)


def test_an_op_is_one_yaml_one_oracle_and_one_kernel_file(tree):
    (tree / "kernels/ops/square.yaml").write_text(OP)
    (tree / "kernels/reference/square.py").write_text(ORACLE)
    (tree / "plugins/cpu/kernels/square.cc").write_text(KERNEL)
    run([sys.executable, "kernels/tools/opgen.py", "--write"], cwd=tree)
    assert run([sys.executable, "device_api/abi/lock.py", "--write"], cwd=tree)
    judged = judge(tree, "cpu:0", build(tree, "dg_cpu"), "--case", "kernel/square/*")
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_a_wrong_kernel_of_a_new_op_is_caught(tree):
    (tree / "kernels/ops/square.yaml").write_text(OP)
    (tree / "kernels/reference/square.py").write_text(ORACLE)
    (tree / "plugins/cpu/kernels/square.cc").write_text(KERNEL.replace("return x * x;", "return x + x;"))
    run([sys.executable, "kernels/tools/opgen.py", "--write"], cwd=tree)
    judged = judge(tree, "cpu:0", build(tree, "dg_cpu"), "--case", "kernel/square/*")
    assert judged.returncode == 1, judged.stdout + judged.stderr


def test_a_backend_is_one_folder(tree):
    folder = tree / "plugins" / "toy"
    folder.mkdir()
    (folder / "plugin.toml").write_text('name = "toy"\nmaturity = "skeleton"\nunsupported = []\nxfail = []\n')
    (folder / "CMakeLists.txt").write_text("dg_add_plugin(toy plugin.c)\n")
    (folder / "plugin.c").write_text((ROOT / "templates/plugin/plugin.c").read_text().replace("[[name]]", "toy"))
    judged = judge(tree, "toy:0", build(tree, "dg_toy"), "--level", "abi", "--level", "memory")
    assert judged.returncode == 0, judged.stdout + judged.stderr
