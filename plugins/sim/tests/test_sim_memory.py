"""Memory of the simulated accelerator, and what it holds the host to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sim_driver import Array, C, Device, Stream, ffi, library_path


def run_script(text: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    """A new process with the driver at hand."""
    head = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    head += "from sim_driver import *\nimport os, time, ctypes\n"
    head += "plugin = Plugin.open(library_path()); device = plugin.open_device()\n"
    return subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, timeout=timeout)


def test_exports_the_entry_symbol_and_nothing_else():
    output = subprocess.run(["nm", "-D", "--defined-only", library_path()], check=True, capture_output=True, text=True)
    assert [line.split()[-1] for line in output.stdout.splitlines()] == ["dg_plugin_entry_v1"]


@pytest.mark.parametrize("quirks", ["", "handles"])
@pytest.mark.parametrize("touch", ["ctypes.string_at(address, 1)", "ctypes.memset(address, 0, 1)"])
def test_the_host_dies_of_following_a_handle(monkeypatch, quirks: str, touch: str):
    monkeypatch.setenv("DOUGONG_SIM_QUIRKS", quirks)
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0")
    script = "address = int(ffi.cast('uintptr_t', device.allocate(4096)))\nprint('here', flush=True)\n"
    result = run_script(script + touch)
    assert (result.stdout, result.returncode) == ("here\n", -signal.SIGSEGV)


def test_the_host_may_touch_pinned_memory():
    result = run_script("ctypes.memset(int(ffi.cast('uintptr_t', device.allocate(99, 1))), 7, 99)")
    assert (result.stderr, result.returncode) == ("", 0)


def test_memory_comes_back_and_is_aligned(device: Device):
    _, total = device.memory_info()
    handles = [device.allocate(size) for size in (1, 63, 64, 65, 5 << 20)]
    assert all(int(ffi.cast("uintptr_t", handle)) % 64 == 0 for handle in handles)
    assert device.memory_info() == (total - 64 * 3 - 128 - (5 << 20), total)
    for handle in handles[::2] + handles[1::2]:
        device.free(handle)
    assert device.memory_info() == (total, total)
    device.free(device.allocate(total))


def test_the_simulator_notices_what_lies_outside_an_allocation(device: Device):
    stream, handle = Stream(device), device.allocate(100)
    data = ffi.new("char[200]")
    for offset, size in ((0, 101), (100, 1), (1 << 40, 1), (2**64 - 1, 1)):
        status = device.status_of("copy_host_to_device", handle, offset, data, size, stream.handle)
        assert status == C.DG_STATUS_INVALID_ARGUMENT
        assert f"{size} bytes at handle" in device.plugin.last_error()
    device.free(handle)
    status = device.status_of("copy_host_to_device", handle, 0, data, 1, stream.handle)
    assert status == C.DG_STATUS_INVALID_ARGUMENT
    assert device.status_of("memory_free", C.DG_MEMORY_DEVICE, handle) == C.DG_STATUS_INVALID_ARGUMENT
    assert "no live allocation" in device.plugin.last_error()


def test_exhausted_memory_says_how_much_there_is(device: Device):
    _, total = device.memory_info()
    handle = device.allocate(total - 128)
    out = ffi.new("void **")
    for size in (129, total, 2**64 - 1):
        assert device.status_of("memory_allocate", C.DG_MEMORY_DEVICE, size, out) == C.DG_STATUS_OUT_OF_MEMORY
        assert (
            f"{size} bytes" in device.plugin.last_error() and f"128 of {total} are free" in device.plugin.last_error()
        )
    device.free(handle)


def test_a_device_opened_twice_is_one_device(open_sim):
    plugin = open_sim()
    first, second = plugin.open_device(1), plugin.open_device(1)
    array = Array(first, np.arange(10))
    assert second.download(array.handle, 0, 80) == np.arange(10).tobytes()
    array.free()
    second.close()
    assert (Array(first, np.arange(10)).read() == np.arange(10)).all()
    first.close()


def test_a_forked_child_is_told_so_and_ends_and_the_parent_goes_on():
    result = run_script(
        """
import numpy as np
array = Array(device, np.arange(100))
pid = os.fork()
if pid == 0:
    status = device.status_of("memory_allocate", 0, 10, ffi.new("void **"))
    print(status_name(status), plugin.last_error(), flush=True)
    print(status_name(device.status_of("device_synchronize")), flush=True)
    array.free()
    device.close()
    plugin.shutdown()
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
assert (array.read() == np.arange(100)).all()
print("parent", flush=True)
"""
    )
    lines = result.stdout.splitlines()
    assert lines[0].startswith("DG_STATUS_INVALID_ARGUMENT this process was forked") and "spawn" in lines[0]
    assert lines[1:] == ["DG_STATUS_INVALID_ARGUMENT", "parent"]
    assert (result.stderr, result.returncode) == ("", 0)


def test_a_process_that_forks_first_and_opens_then_works_in_both():
    opening = """
import sys; sys.path.insert(0, {folder!r})
from sim_driver import *
import os, numpy as np
plugin = Plugin.open(library_path())
pid = os.fork()
device = plugin.open_device()
assert (Array(device, np.arange(100)).read() == np.arange(100)).all()
if pid:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    text = opening.format(folder=str(Path(__file__).parent))
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=30)
    assert (result.stderr, result.returncode) == ("", 0)


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "os._exit(0)"])
def test_a_process_may_end_with_work_pending(ending: str):
    result = run_script(
        f"""
kernels = Kernels(device)
import numpy as np
streams = [Stream(device) for _ in range(4)]
x = Array(device, np.ones(1 << 16, np.float32))
event = Event(device)
for stream in streams[1:]:
    for _ in range(300):
        kernels.launch("exp", [x], x, stream)
held = ffi.callback("void(void *, dg_status_t)", lambda _, status: time.sleep(1000))
device.call("stream_add_callback", streams[0].handle, held, ffi.NULL)
event.record(streams[0])
streams[1].wait(event)
device.fill(x.handle, 0, b"1", 1, streams[1])
{ending}
""",
        timeout=20,
    )
    assert (result.stderr, result.returncode) == ("", 0)
