"""Plugins for the tests, compiled from tests/plugins/*.c with the switches that a test wants."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import dougong
import pytest

SOURCES = Path(__file__).parent / "plugins"
COMPILERS = {".c": ["cc", "-std=gnu11"], ".cc": ["c++", "-std=c++17"]}
FLAGS = ["-O0", "-shared", "-fPIC", "-pthread"]

Compile = Callable[..., Path]
RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def compile_plugin(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """compile_plugin("plain", "NAME=\\"acme\\"", "ABORT", file="libdg_acme.so") gives the library's path."""

    @functools.cache
    def compile_once(source: str, switches: tuple[str, ...], file: str) -> Path:
        output = tmp_path_factory.mktemp("plugin") / file
        defines = [f"-D{switch}" for switch in switches]
        (file_of_source,) = SOURCES.glob(f"{source}.c*")
        compiler = COMPILERS[file_of_source.suffix]
        include = f"-I{dougong.get_include()}"
        command = [*compiler, *FLAGS, *defines, include, str(file_of_source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return output

    def compile_plugin(source: str, *switches: str, file: str = "libdg_acme.so") -> Path:
        return compile_once(source, switches, file)

    return compile_plugin


@pytest.fixture(scope="session")
def named(compile_plugin: Compile) -> Callable[..., Path]:
    """named("acme", ...) is the plain plugin of that name, in a folder of its own, with the right file name."""
    return lambda name, *switches, source="plain": compile_plugin(
        source, f'NAME="{name}"', *switches, file=f"libdg_{name}.so"
    )


@pytest.fixture
def run_python() -> RunPython:
    """Runs code in a new interpreter; fails when that one does, unless check=False."""

    def run(
        code: str, *arguments: object, check: bool = True, timeout: float = 30, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        variables = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        variables.pop("DOUGONG_PLUGIN_PATH", None)
        variables.update(environment)
        command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=variables)
        assert not check or done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
