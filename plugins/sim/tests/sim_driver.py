"""Opens libdg_sim.so through the public headers alone, by the judge's cffi loader, and launches its kernels."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dougong_conformance.native import C, Device, Event, Plugin, Stream, dtype_code, ffi, status_name, stream_handle

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 20.0  # seconds that a test waits for what must come


def library_path() -> Path:
    """DOUGONG_SIM_LIBRARY, or where `make build` puts the plugin."""
    return Path(os.environ.get("DOUGONG_SIM_LIBRARY", ROOT / "build" / "plugins" / "libdg_sim.so"))


class Gate:
    """A callback that holds the stream up until the gate is opened; work behind it cannot have happened before."""

    def __init__(self, stream: Stream) -> None:
        self._opened = threading.Event()
        stream.add_callback(self._wait)

    def _wait(self, status: int) -> None:
        self._opened.wait(PATIENCE)

    def open(self) -> None:
        self._opened.set()

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()


class Array:
    """A dense array in device memory; ``order`` is how launches describe it."""

    def __init__(self, device: Device, values: np.ndarray) -> None:
        self.device, self.shape, self.dtype, self.size = device, values.shape, values.dtype, max(values.nbytes, 1)
        self.order = "C"
        self.handle = device.allocate(self.size)
        if values.nbytes:
            device.upload(self.handle, 0, values.tobytes())

    def read(self, stream: Stream | None = None) -> np.ndarray:
        found = self.device.download(self.handle, 0, self.size, stream)
        return np.frombuffer(found, self.dtype, int(np.prod(self.shape))).reshape(self.shape)

    def free(self) -> None:
        self.device.free(self.handle)


def describe(array: Array, keep: list[Any]) -> Any:
    """The descriptor of an array; what it points to is put into ``keep``."""
    strides = [s // array.dtype.itemsize for s in np.empty(array.shape, array.dtype, array.order).strides]
    shape, steps = ffi.new("int64_t[]", array.shape or (1,)), ffi.new("int64_t[]", strides or [1])
    keep += [shape, steps]
    fields = (array.handle, 12, array.device.index, len(array.shape), dtype_code(array.dtype.name), shape, steps, 0)
    return keep_new(keep, "dg_tensor_t *", fields)


def keep_new(keep: list[Any], type_name: str, value: Any) -> Any:
    keep.append(ffi.new(type_name, value))
    return keep[-1]


class Kernels:
    """The kernel table of a device, by op."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.by_op = {kernel.op: kernel for kernel in device.kernels()}

    def status(
        self, op: str, inputs: Sequence[Array], output: Array, stream: Stream | None, attributes: Any = None
    ) -> int:
        """Launches; the descriptors are overwritten when the launch has returned."""
        keep: list[Any] = []
        tensors = [describe(array, keep) for array in (*inputs, output)]
        call = ffi.new("dg_kernel_call_t *")
        call.struct_size = ffi.sizeof("dg_kernel_call_t")
        call.device, call.stream = self.device.handle, stream_handle(stream)
        call.inputs = keep_new(keep, "const dg_tensor_t *[]", tensors[:-1])
        call.outputs = keep_new(keep, "const dg_tensor_t *[]", tensors[-1:])
        call.input_count, call.output_count = len(inputs), 1
        call.user_data = self.by_op[op].raw.user_data
        call.attributes = ffi.NULL if attributes is None else attributes
        status = self.by_op[op].raw.launch(call)
        for item in keep:
            size = ffi.sizeof(ffi.typeof(item).item) if ffi.typeof(item).kind == "pointer" else ffi.sizeof(item)
            ffi.memmove(item, b"\xee" * size, size)
        return status

    def launch(self, op: str, inputs: Sequence[Array], output: Array, stream: Stream | None, attributes: Any = None):
        self.device.plugin.check(op, self.status(op, inputs, output, stream, attributes))


def in_threads(count: int, function: Callable[[int], None]) -> None:
    """Runs function(0..count-1), each in a thread of its own; raises the first exception."""
    errors: list[BaseException] = []

    def run(index: int) -> None:
        try:
            function(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


__all__ = [
    "ROOT",
    "Array",
    "C",
    "Device",
    "Event",
    "Gate",
    "Kernels",
    "Plugin",
    "Stream",
    "ffi",
    "in_threads",
    "library_path",
    "status_name",
]
