"""Calls the kernels of libdg_cpu.so directly, on NumPy arrays of any layout: no runtime is involved."""

from __future__ import annotations

import ctypes as c
import os
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from kernels import definitions  # noqa: E402  (the repository's folder, also where nothing is installed)

DTYPES: dict[str, tuple[np.dtype, int]] = {
    "float32": (np.dtype(np.float32), 0x00012002),
    "float64": (np.dtype(np.float64), 0x00014002),
    "float16": (np.dtype(np.float16), 0x00011002),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), 0x00011004),
    "int8": (np.dtype(np.int8), 0x00010800),
    "int16": (np.dtype(np.int16), 0x00011000),
    "int32": (np.dtype(np.int32), 0x00012000),
    "int64": (np.dtype(np.int64), 0x00014000),
    "uint8": (np.dtype(np.uint8), 0x00010801),
    "bool": (np.dtype(np.bool_), 0x00010806),
}
CODES = {dtype: code for dtype, code in DTYPES.values()}
STATUS_OK, STATUS_OUT_OF_MEMORY, STATUS_UNSUPPORTED, STATUS_OUT_OF_RANGE = 0, 3, 4, 6


class Scalar(c.Structure):
    _fields_ = (
        ("kind", c.c_int32),
        ("padding", c.c_int32),
        ("integer", c.c_int64),
        ("real", c.c_double),
        ("imaginary", c.c_double),
    )


class Tensor(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("device_type", c.c_int32),
        ("device_id", c.c_int32),
        ("ndim", c.c_int32),
        ("dtype", c.c_uint32),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    )


class Call(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("device", c.c_void_p),
        ("stream", c.c_void_p),
        ("inputs", c.POINTER(c.POINTER(Tensor))),
        ("outputs", c.POINTER(c.POINTER(Tensor))),
        ("input_count", c.c_int32),
        ("output_count", c.c_int32),
        ("attributes", c.c_void_p),
        ("workspace", c.c_void_p),
        ("workspace_offset", c.c_uint64),
        ("workspace_size", c.c_uint64),
        ("plan", c.c_void_p),
        ("user_data", c.c_void_p),
    )


LAUNCH = c.CFUNCTYPE(c.c_int32, c.POINTER(Call))
PLAN = c.CFUNCTYPE(c.c_int32, c.POINTER(Call), c.POINTER(c.c_uint64), c.POINTER(c.c_void_p))


class Kernel(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("op", c.c_char_p),
        ("types", c.c_void_p * 3),
        ("flags", c.c_uint32),
        ("alignment", c.c_uint32),
        ("user_data", c.c_void_p),
        ("launch", LAUNCH),
        ("plan", PLAN),
        ("plan_destroy", c.c_void_p),
    )


SLOTS = {  # the core slots that the CPU plugin fills, with their arguments
    "device_create": (c.c_void_p, c.c_int32, c.POINTER(c.c_void_p)),
    "device_destroy": None,
    "device_get_properties": None,
    "device_synchronize": (c.c_void_p,),
    "memory_allocate": (c.c_void_p, c.c_int32, c.c_size_t, c.POINTER(c.c_void_p)),
    "memory_free": (c.c_void_p, c.c_int32, c.c_void_p),
    "memory_get_info": (c.c_void_p, c.POINTER(c.c_uint64), c.POINTER(c.c_uint64)),
    "copy_host_to_device": (c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t, c.c_void_p),
    "copy_device_to_host": (c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t, c.c_void_p),
    "copy_device_to_device": None,
    "copy_peer": None,
    "memory_fill": (c.c_void_p, c.c_void_p, c.c_size_t, c.c_char_p, c.c_size_t, c.c_size_t, c.c_void_p),
    **{f"stream_slot_{i}": None for i in range(6)},
    **{f"event_slot_{i}": None for i in range(6)},
    "device_get_kernels": (c.c_void_p, c.POINTER(c.POINTER(c.POINTER(Kernel))), c.POINTER(c.c_size_t)),
}


class DeviceApi(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        *((name, c.CFUNCTYPE(c.c_int32, *arguments) if arguments else c.c_void_p) for name, arguments in SLOTS.items()),
    )


class Plugin(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("abi_version", c.c_uint32),
        ("padding", c.c_uint32),
        ("name", c.c_char_p),
        ("version", c.c_char_p),
        ("vendor", c.c_char_p),
        ("initialize", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(c.c_void_p))),
        ("shutdown", c.c_void_p),
        ("device_count", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(c.c_int32))),
        ("get_last_error", c.CFUNCTYPE(c.c_char_p, c.c_void_p)),
        ("device", c.POINTER(DeviceApi)),
        ("get_extension", c.c_void_p),
    )


def library_path() -> Path:
    """DOUGONG_CPU_LIBRARY, or where `make build` puts the plugin."""
    return Path(os.environ.get("DOUGONG_CPU_LIBRARY", ROOT / "build" / "plugins" / "libdg_cpu.so"))


class Cpu:
    """The opened plugin."""

    def __init__(self) -> None:
        library = c.CDLL(str(library_path()))
        library.dg_plugin_entry_v1.restype = c.POINTER(Plugin)
        self.plugin = library.dg_plugin_entry_v1().contents
        status = self.plugin.initialize(None, c.byref(c.c_void_p()))
        if status != STATUS_OK:
            raise RuntimeError(self.last_error())
        self.api = self.plugin.device.contents
        self.device = c.c_void_p()
        assert self.api.device_create(None, 0, c.byref(self.device)) == STATUS_OK
        table, count = c.POINTER(c.POINTER(Kernel))(), c.c_size_t()
        assert self.api.device_get_kernels(self.device, c.byref(table), c.byref(count)) == STATUS_OK
        self.kernels = {table[i].contents.op.decode(): table[i].contents for i in range(count.value)}

    def last_error(self) -> str:
        return self.plugin.get_last_error(None).decode()

    def launch(self, op: str, inputs: list, outputs: list, attributes: dict[str, Any] | None = None) -> int:
        """The status of one launch; outputs are written in place. None stands for an operand that was left out."""
        call, keep = self._prepare(op, inputs, outputs, attributes or {})
        kernel = self.kernels[op]
        if kernel.plan:
            size, plan = c.c_uint64(), c.c_void_p()
            status = kernel.plan(call, c.byref(size), c.byref(plan))
            if status != STATUS_OK:
                return status
            workspace = np.full(size.value + 192, 0xFF, np.uint8)  # poisoned, with 64 bytes of canary on both sides
            start = -workspace.ctypes.data % 64 + 64
            call.workspace, call.workspace_size = workspace.ctypes.data + start, size.value
            call.workspace_offset, call.plan = 0, plan
            status = kernel.launch(call)
            assert (workspace[:start] == 0xFF).all() and (workspace[start + size.value :] == 0xFF).all()
        else:
            status = kernel.launch(call)
        del keep
        return status

    def __call__(self, op: str, inputs: list, outputs: list, **attributes: Any) -> Any:
        """Runs a kernel into poisoned outputs given as (shape, dtype), or into given arrays; returns them."""
        arrays = [o if o is None or isinstance(o, np.ndarray) else poisoned(*o) for o in outputs]
        status = self.launch(op, inputs, arrays, attributes)
        assert status == STATUS_OK, f"{op}: status {status}: {self.last_error()}"
        return arrays[0] if len(arrays) == 1 else arrays

    def launcher(self, op: str, inputs: list, outputs: list, **attributes: Any) -> tuple[Any, Call, Any]:
        """For measurements: launch(call) runs the kernel; the third value must be kept alive."""
        call, keep = self._prepare(op, inputs, outputs, attributes)
        return self.kernels[op].launch, call, keep

    def _prepare(self, op: str, inputs: list, outputs: list, attributes: dict[str, Any]) -> tuple[Call, Any]:
        tensors = [[describe(x) for x in group] for group in (inputs, outputs)]
        pointers = [
            (c.POINTER(Tensor) * len(g))(*(c.pointer(t) if t else c.POINTER(Tensor)() for t in g)) for g in tensors
        ]
        packed = pack_attributes(op, attributes)
        call = Call(struct_size=c.sizeof(Call), device=self.device)
        call.inputs = c.cast(pointers[0], c.POINTER(c.POINTER(Tensor)))
        call.outputs = c.cast(pointers[1], c.POINTER(c.POINTER(Tensor)))
        call.input_count, call.output_count = len(inputs), len(outputs)
        call.attributes = c.cast(c.pointer(packed), c.c_void_p) if packed is not None else None
        call.user_data = self.kernels[op].user_data
        return call, (tensors, pointers, packed)


def poisoned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Memory whose bytes are all 0xFF: NaN for floats, -1 for integers."""
    return (
        np.frombuffer(bytearray(b"\xff" * max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)), np.uint8)[
            : int(np.prod(shape)) * np.dtype(dtype).itemsize
        ]
        .view(dtype)
        .reshape(shape)
    )


def describe(x: np.ndarray | None) -> Tensor | None:
    """The descriptor of an array. Strides of axes of size 0 and 1 are made absurd, as the contract allows."""
    if x is None:
        return None
    strides = [s // x.itemsize if n > 1 else 7777 for s, n in zip(x.strides, x.shape, strict=True)]
    shape = (c.c_int64 * max(1, x.ndim))(*x.shape)
    tensor = Tensor(ndim=x.ndim, dtype=CODES[x.dtype], device_type=1)
    tensor.shape, tensor.strides = shape, (c.c_int64 * max(1, x.ndim))(*strides)
    offset = 4096 if x.ctypes.data > 4096 else 0  # handle and offset together are the address
    tensor.data, tensor.byte_offset = x.ctypes.data - offset, offset
    return tensor


def pack_attributes(op: str, given: dict[str, Any]) -> c.Structure | None:
    """The op's dg_<op>_attributes_t, filled from keywords and defaults."""
    specification = definitions.load(op).attributes
    if not specification:
        return None
    unknown = set(given) - {a.name for a in specification}
    assert not unknown, f"{op} has no attribute {unknown}"
    fields: list[tuple[str, Any]] = [("struct_size", c.c_size_t)]
    values: list[Any] = []
    for attribute in specification:
        value = given.get(attribute.name, attribute.default)
        for suffix, kind, item in _fields_of(attribute, value):
            fields.append((attribute.name + suffix, kind))
            values.append(item)
    struct = type(f"{op}_attributes", (c.Structure,), {"_fields_": fields})
    return struct(c.sizeof(struct), *values)


def _fields_of(attribute: definitions.Attribute, value: Any) -> list[tuple[str, Any, Any]]:
    match attribute.type:
        case "int" | "axis":
            return [("", c.c_int64, value)]
        case "uint64":
            return [("", c.c_uint64, value)]
        case "float":
            return [("", c.c_double, value)]
        case "bool":
            return [("", c.c_int32, int(value))]
        case "enum":
            return [("", c.c_int32, attribute.values.index(value))]
        case "dtype":
            return [("", c.c_uint32, CODES[np.dtype(value)])]
        case "scalar":
            real = isinstance(value, float)
            return [("", Scalar, Scalar(int(real), 0, 0 if real else int(value), float(value) if real else 0.0))]
    if value is None:
        return [("", c.POINTER(c.c_int64), None), ("_count", c.c_size_t, 0)]
    numbers = list(value) if isinstance(value, list | tuple) else [value] * (attribute.length or 1)
    array = (c.c_int64 * max(1, len(numbers)))(*numbers)
    return [("", c.POINTER(c.c_int64), array), ("_count", c.c_size_t, len(numbers))]
