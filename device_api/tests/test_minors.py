"""A plugin built against a shorter and against a longer minor than the host's is loaded, and accused of nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GET_EXTENSION = "  const void *(*get_extension)(void *context, const char *id);\n"
GET_KERNELS = (
    "  dg_status_t (*device_get_kernels)"
    "(dg_device_t *device, const dg_kernel_t *const **out_kernels, size_t *out_count);\n"
)
FILLED = "    .device_get_kernels = device_get_kernels,\n"


def replace(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def longer(header, plugin):
    """Both tables have a slot that the host does not know, and the plugin fills it."""
    header = replace(header, GET_EXTENSION, GET_EXTENSION + "  void (*from_the_future)(void *context);\n")
    header = replace(header, GET_KERNELS, GET_KERNELS + "  void (*from_the_future)(dg_device_t *device);\n")
    future = "    .from_the_future = (void *)1,\n"
    plugin = replace(plugin, FILLED, FILLED + future)
    return header, replace(plugin, "    .device = &device_api,\n", "    .device = &device_api,\n" + future)


def shorter(header, plugin):
    """The tables end before their last slots, as those of an earlier minor would."""
    header = replace(replace(header, GET_EXTENSION, ""), GET_KERNELS, "")
    start, end = plugin.index("/* -- Kernels"), plugin.index("/* -- The plugin")
    plugin = plugin[:start] + plugin[end:]
    return header, replace(plugin, FILLED, "")


def build(folder, change):
    shutil.copytree(ROOT / "device_api" / "include", folder / "include")
    header = folder / "include" / "dougong" / "dg_device.h"
    plugin = (ROOT / "templates" / "plugin" / "plugin.c").read_text().replace("[[name]]", "acme")
    text, plugin = change(header.read_text(), plugin)
    header.write_text(text)
    (folder / "plugin.c").write_text(plugin)
    library = folder / "libdg_acme.so"
    flags = ["-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-I", folder / "include"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, folder / "plugin.c", "-o", library], check=True)
    return library


both = pytest.mark.parametrize("change", [longer, shorter], ids=lambda change: change.__name__)


@both
def test_a_plugin_of_another_minor_is_accused_of_nothing(change, tmp_path):
    library = build(tmp_path, change)
    path = os.pathsep.join([str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")])
    levels = ["--level", "abi", "--level", "memory", "--level", "stream"]
    command = [sys.executable, "-m", "dougong_conformance", "run", "acme:0", "--plugin", library, *levels]
    judged = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout + judged.stderr


@both
def test_the_runtime_computes_on_a_plugin_of_another_minor(change, tmp_path):
    environment = os.environ | {"DOUGONG_PLUGIN_PATH": str(build(tmp_path, change))}
    script = "import dougong; print(dougong.tensor([-1.0, 2.0], device='acme:0').relu().numpy().tolist())"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[0.0, 2.0]\n"), done.stderr
