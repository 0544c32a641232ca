"""A device does not survive a fork, and says so; nothing crashes or hangs at the end of the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Named = Callable[..., Path]

FORK = """
    import os, sys, dougong
    def in_child(function):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, str(function()).encode())
            except BaseException as error:
                os.write(writer, f"{type(error).__name__}: {error}".encode())
            os._exit(0)
        os.close(writer)
        text = b"".join(iter(lambda: os.read(reader, 4096), b"")).decode()
        assert os.waitpid(child, 0)[1] == 0
        return text
    def double(device):
        x = dougong.tensor([1.0, 2.0], device=device)
        return (x + x).numpy().tolist()
"""


@pytest.fixture
def variables(named: Named, compile_plugin: Named) -> dict[str, str]:
    queue = compile_plugin("queue", file="libdg_queue.so")
    return {"DOUGONG_PLUGIN_PATH": f"{named('acme').parent}:{queue.parent}"}


@pytest.mark.parametrize("device", ["acme:0", "queue:0"])
def test_a_device_that_the_parent_opened_names_spawn_in_the_child(run_python, variables, device: str) -> None:
    code = (
        FORK
        + """
    device = sys.argv[1]
    x = dougong.tensor([1.0], device=device)
    def listing():
        names = dougong.device_names()
        return "acme" in names and "queue" in names
    uses = [lambda: double(device), lambda: x + x, lambda: x.numpy(), lambda: dougong.device(device),
            lambda: dougong.device_count(device), lambda: dougong.Stream(x.device), lambda: x.device.synchronize(),
            lambda: dougong.Event(x.device), lambda: x.device.empty_cache()]
    for use in uses:
        text = in_child(use)
        assert "InvalidArgumentError" in text and "spawn" in text, text
    assert in_child(listing) == "True"
    assert double(device) == [2.0, 4.0] and x.numpy().tolist() == [1.0]
    """
    )
    run_python(code, device, timeout=20, **variables)


def test_what_was_not_open_works_in_the_child(run_python, variables) -> None:
    code = (
        FORK
        + """
    assert in_child(lambda: double("queue:0")) == "[2.0, 4.0]"
    dougong.tensor([1.0], device="acme:0")
    assert in_child(lambda: double("queue:0")) == "[2.0, 4.0]"
    assert double("queue:0") == [2.0, 4.0]
    """
    )
    run_python(code, timeout=20, **variables)


def test_host_tensors_are_usable_in_the_child(run_python, variables) -> None:
    code = (
        FORK
        + """
    x = dougong.tensor([[1.0, 2.0], [3.0, 4.0]])
    x @ x
    double("queue:0")
    assert in_child(lambda: (x @ x).numpy().tolist()) == "[[7.0, 10.0], [15.0, 22.0]]"
    """
    )
    run_python(code, timeout=20, **variables)


def test_a_child_drops_the_parents_tensors_without_touching_the_device(run_python, variables) -> None:
    code = (
        FORK
        + """
    import gc
    tensors = [dougong.tensor([1.0], device="queue:0") for _ in range(10)]
    stream, event = dougong.Stream("queue:0"), dougong.Event("queue:0")
    def drop():
        global stream, event
        tensors.clear(); del stream, event; gc.collect()
        return "dropped"
    assert in_child(drop) == "dropped"
    """
    )
    run_python(code, timeout=20, **variables)


def test_spawned_workers_use_the_device(run_python, variables, tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(
        "import multiprocessing, dougong\n"
        "def work(i):\n    return float((dougong.tensor([1.0], device='queue:0') * i).numpy()[0])\n"
        "if __name__ == '__main__':\n"
        "    dougong.device('queue:0')\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        assert pool.map(work, [3]) == [3.0]\n"
    )
    run_python("import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')", script, **variables)


ENDINGS = {
    "live tensors": "keep = dougong.tensor([1.0], device='queue:0')",
    "a reference cycle": "a = [dougong.tensor([1.0], device='queue:0')]; a.append(a)",
    "a thread local": "import threading; local = threading.local(); local.x = dougong.tensor([1.0], device='queue:0')",
    "live streams and events": "s = dougong.Stream('queue:0'); e = dougong.Event('queue:0'); e.record(s)",
    "a current stream": "s = dougong.Stream('queue:0'); dougong.stream(s).__enter__()",
    "pending work": "lib.queue_set_delay(100); x = [dougong.tensor([1.0], device='queue:0') for _ in range(5)]",
    "a pending callback": (
        "lib.queue_set_delay(100); dougong.current_stream('queue:0').add_callback(lambda status: None)"
    ),
    "an array over a tensor": "import numpy; y = numpy.from_dlpack(dougong.tensor([1.0]))",
    "an exit in a thread": (
        "import sys, threading\nx = dougong.tensor([1.0], device='queue:0')\nthreading.Thread(target=sys.exit).start()"
    ),
    "an exit": "import sys; x = dougong.tensor([1.0], device='queue:0'); sys.exit(0)",
    "an explicit end": "x = dougong.tensor([1.0], device='queue:0'); dougong._core._shutdown(); del x",
    "a daemon thread": (
        "import threading\n"
        "def work():\n    while True: dougong.tensor([1.0], device='queue:0')\n"
        "threading.Thread(target=work, daemon=True).start(); import time; time.sleep(0.1)"
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_process_ends_silently_with(run_python, variables, ending: str) -> None:
    code = (
        "import ctypes, dougong\nlib = ctypes.CDLL(dougong._plugins.find('queue'))\ndougong.device('queue:0')\n"
        + ENDINGS[ending]
    )
    done = run_python(code, timeout=20, **variables)
    if ending != "a daemon thread":
        assert done.stderr == ""


def test_an_unwinding_exception_is_the_only_thing_said(run_python, variables) -> None:
    done = run_python("import dougong; x = dougong.tensor([1.0], device='queue:0'); 1 / 0", check=False, **variables)
    assert done.returncode == 1 and done.stderr.strip().endswith("ZeroDivisionError: division by zero")


def test_after_the_end_a_device_says_so(run_python, variables) -> None:
    code = """
        import dougong
        dougong.device("queue:0")
        dougong._core._shutdown()
        try:
            dougong.zeros(1, device="queue:0")
        except dougong.AbortedError as error:
            assert "the process is exiting" in str(error)
        else:
            raise AssertionError
    """
    run_python(code, **variables)
