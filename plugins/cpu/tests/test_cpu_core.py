"""The core of the CPU plugin: symbols, table, memory, copies, errors."""

from __future__ import annotations

import ctypes as c
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cpu_driver import ROOT, STATUS_OK, STATUS_OUT_OF_MEMORY, STATUS_UNSUPPORTED, Cpu, definitions, library_path


def test_exports_the_entry_symbol_and_nothing_else():
    output = subprocess.run(
        ["nm", "-D", "--defined-only", str(library_path())], check=True, capture_output=True, text=True
    )
    assert [line.split()[-1] for line in output.stdout.splitlines()] == ["dg_plugin_entry_v1"]


def test_has_no_static_initialiser():
    output = subprocess.run(["nm", str(library_path())], check=True, capture_output=True, text=True)
    symbols = output.stdout.split()
    assert any("dg_kernel_relu" in symbol for symbol in symbols)
    assert not [symbol for symbol in symbols if symbol.startswith("_GLOBAL__sub_I")]


def test_has_a_kernel_for_every_primitive(cpu: Cpu):
    primitives = {op.name for op in definitions.load_all() if not op.decompose}
    assert primitives <= set(cpu.kernels) <= set(definitions.op_names())


def test_a_kernel_file_without_an_op_stops_the_configuration(tmp_path: Path):
    plugin = tmp_path / "plugins" / "cpu"
    (plugin / "kernels").mkdir(parents=True)
    (plugin / "kernels" / "reul.cc").touch()
    (plugin / "CMakeLists.txt").write_text((ROOT / "plugins/cpu/CMakeLists.txt").read_text())
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(trial LANGUAGES NONE)\nadd_subdirectory(plugins/cpu)\n"
    )
    cmake = Path(sys.executable).parent / "cmake"
    result = subprocess.run(
        [cmake, "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert "plugins/cpu/kernels/reul.cc: no such op in kernels/ops/" in result.stderr


def test_allocations_are_aligned_and_a_kind_that_is_not_there_is_unsupported(cpu: Cpu):
    for kind in (0, 1):
        handle = c.c_void_p()
        assert cpu.api.memory_allocate(cpu.device, kind, 3, c.byref(handle)) == STATUS_OK
        assert handle.value and handle.value % 64 == 0
        assert cpu.api.memory_free(cpu.device, kind, handle) == STATUS_OK
    assert cpu.api.memory_allocate(cpu.device, 7, 3, c.byref(c.c_void_p())) == STATUS_UNSUPPORTED
    assert "memory kind 7" in cpu.last_error()


@pytest.mark.parametrize("excess", [1, 2**40, 2**63 - 2**20, 2**64 - 1])
def test_more_than_the_machine_has_is_refused_with_a_sentence(cpu: Cpu, excess: int):
    free, total = c.c_uint64(), c.c_uint64()
    assert cpu.api.memory_get_info(cpu.device, c.byref(free), c.byref(total)) == STATUS_OK
    assert 0 < free.value <= total.value
    size = min(total.value + excess, 2**64 - 1)
    handle = c.c_void_p()
    assert cpu.api.memory_allocate(cpu.device, 0, size, c.byref(handle)) == STATUS_OUT_OF_MEMORY
    assert handle.value is None
    assert str(size) in cpu.last_error()


def test_copies_honour_offsets(cpu: Cpu):
    source, middle, back = np.arange(16, dtype=np.uint8), np.zeros(32, np.uint8), np.zeros(16, np.uint8)
    assert cpu.api.copy_host_to_device(cpu.device, middle.ctypes.data, 5, source.ctypes.data, 16, None) == STATUS_OK
    assert cpu.api.copy_device_to_host(cpu.device, back.ctypes.data, middle.ctypes.data, 6, 10, None) == STATUS_OK
    assert back.tolist() == [*range(1, 11), 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_fill_writes_whole_patterns(cpu: Cpu, size: int):
    memory, pattern = np.zeros(16 * 9, np.uint8), bytes(range(1, size + 1))
    assert cpu.api.memory_fill(cpu.device, memory.ctypes.data, 16, pattern, size, 7, None) == STATUS_OK
    assert bytes(memory[16 : 16 + 7 * size]) == pattern * 7
    assert not memory[:16].any() and not memory[16 + 7 * size :].any()


def test_the_number_of_threads_must_be_a_number():
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from cpu_driver import Cpu; Cpu()"
    environment = {**os.environ, "DOUGONG_NUM_THREADS": "many"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "DOUGONG_NUM_THREADS must be a number from 1 to 4096, found 'many'" in result.stderr


@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_lower_instruction_sets_pass_the_same_tests(level: str):
    """The kernel tests of two dtypes once more, in a process that takes the loops for older machines."""
    tests = sorted(path for path in Path(__file__).parent.glob("test_cpu_*.py") if path.name != Path(__file__).name)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-k", "float32 or float16 or position", *map(str, tests)]
    environment = {**os.environ, "DOUGONG_CPU_ISA": level}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:]
