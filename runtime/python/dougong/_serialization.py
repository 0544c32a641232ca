"""``dougong.save`` and ``dougong.load``: safetensors files, which hold data and never code.

A dict of tensors becomes a plain safetensors file that any other reader opens. Anything nested, such as
``{"model": ..., "optimizer": ..., "rng": ...}``, is flattened: the tensors under dotted names, the rest as JSON in the
file's metadata.

- A view saves its own elements only, densely.
- One tensor, or one view of one memory, under two names is saved once and is one tensor again after loading. Two
  *different* views of one memory are saved apart and are two tensors afterwards.
- Tensors come back as plain tensors, without history, on the device where they were saved.
- The file is replaced in one step: whatever interrupts the saving, the old file stays as it was.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from . import _core, _numpy
from ._core import Tensor

if TYPE_CHECKING:
    import numpy as np

_CODES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "complex64": "C64",
}
_NAMES = {code: name for name, code in _CODES.items()}
_LONGEST_HEADER = 100_000_000  # bytes, as in the reference implementation
_METADATA = "__metadata__"
_TREE = "dougong"  # the key of the metadata under which what is no tensor lies


class CorruptFileError(_core.InvalidArgumentError):
    """A file that is no safetensors file, or is one that is damaged or cut off."""


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Writes tensors, numbers, strings, None, and dicts, lists and tuples of them to a file."""
    flat = _Flattened()
    tree = flat.encode(obj, ())
    metadata = {_TREE: json.dumps({"version": 1, "tree": tree, "devices": flat.devices})}
    with _replacing(Path(os.path.realpath(os.fspath(path)))) as file:
        _write(file, flat.tensors, metadata)


def load(path: str | os.PathLike[str], device: Any = None) -> Any:
    """What :func:`save` was given. `device` puts all tensors there; without it each goes back to its own device.

    A safetensors file from elsewhere gives a dict of tensors, on the CPU unless `device` says otherwise.
    """
    with open(path, "rb") as file:
        entries, metadata = _read_header(file, path)
        tree, devices = _read_tree(metadata, entries, path)
        places = _Places(path, device, devices)
        tensors = {}
        for name, entry in entries.items():
            tensors[name] = _numpy.from_array(_read_array(file, entry, path), places.of(name))
    return tensors if tree is None else _decode(tree["tree"], tensors, path)


# -- a nested object as tensors and JSON ---------------------------------------------------------------------------


@dataclass
class _Flattened:
    """The tensors of an object by name, found once each, and the devices that they were on."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    _known: dict[Any, str] = field(default_factory=dict)

    def encode(self, obj: Any, path: tuple[Any, ...]) -> Any:
        """JSON for an object; what JSON has no form for is a dict with one key, which says what it is."""
        if isinstance(obj, Tensor):
            return {"tensor": self._named(obj, path)}
        if isinstance(obj, Mapping):
            return {"dict": [[self._key(k, path), self.encode(v, (*path, k))] for k, v in obj.items()]}
        if isinstance(obj, (list, tuple)):
            items = [self.encode(item, (*path, i)) for i, item in enumerate(obj)]
            return items if isinstance(obj, list) else {"tuple": items}
        return self._leaf(obj, path)

    def _key(self, key: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(key, (str, bool, int, float, tuple)) or key is None:
            return self.encode(key, path)
        raise TypeError(
            f"save: {_place(path)} has a key of type {type(key).__name__}; keys are strings, numbers, tuples"
        )

    def _leaf(self, obj: Any, path: tuple[Any, ...]) -> Any:
        if obj is None or type(obj) in (bool, int, str):
            return obj
        if isinstance(obj, float):
            return float(obj) if math.isfinite(obj) else {"float": str(float(obj))}
        if isinstance(obj, _core.dtype):
            return {"dtype": obj.name}
        if isinstance(obj, _core.Device):
            return {"device": str(obj)}
        if hasattr(obj, "dtype") and getattr(obj, "shape", None) == () and hasattr(obj, "item"):
            return self._leaf(obj.item(), path)  # a NumPy scalar
        raise TypeError(
            f"save: {_place(path)} is of type {type(obj).__name__}; a file holds tensors, numbers, strings, None, and "
            "dicts, lists and tuples of them (for a module or optimizer: its state_dict())"
        )

    def _named(self, tensor: Tensor, path: tuple[Any, ...]) -> str:
        key = _identity(tensor)
        if key not in self._known:
            if tensor.dtype.name not in _CODES:
                raise TypeError(f"save: {_place(path)} has dtype {tensor.dtype!r}, which safetensors does not know")
            name = self._free_name(".".join(map(str, path)) or "tensor")
            self._known[key] = name
            self.tensors[name] = tensor.detach()
            self.devices[name] = str(tensor.device)
        return self._known[key]

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.tensors or name == _METADATA:
            name, number = f"{wanted}#{number}", number + 1
        return name


def _place(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path)) or "the object"


def _identity(tensor: Tensor) -> Any:
    """Equal for two tensors that are the same view of the same memory. Tensors without elements share nothing."""
    if tensor.numel() == 0:
        return id(tensor)
    info = _core._storage_info(tensor)
    where = str(tensor.device), info["handle"], info["offset"], info["byte_offset"]
    return *where, tensor.dtype.name, tensor.shape, tensor.strides


def _decode(node: Any, tensors: Mapping[str, Tensor], path: Any) -> Any:
    if isinstance(node, list):
        return [_decode(item, tensors, path) for item in node]
    if not isinstance(node, dict):
        return node
    ((kind, value),) = node.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {_decode(k, tensors, path): _decode(v, tensors, path) for k, v in value}
    if kind == "tuple":
        return tuple(_decode(item, tensors, path) for item in value)
    if kind == "float":
        return float(value)
    if kind == "dtype":
        return _core._dtype_from_name(value)
    if kind == "device":
        return value
    raise CorruptFileError(f"{path}: a part of kind {kind!r} is unknown; was it saved by a newer dougong?")


# -- the file ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    dtype: _core.dtype
    shape: tuple[int, ...]
    begin: int  # in the file
    size: int


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when it is complete and on the disk, and vanishes if it fails."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_for(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode_for(path: Path) -> int:
    """The mode of the file to be replaced, or what a new file gets."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _write(file: BinaryIO, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    # Wide elements first: so each tensor is aligned to its element size.
    order = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {_METADATA: metadata}
    end = 0
    for name in order:
        tensor = tensors[name]
        begin, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": _CODES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.write(_dense_bytes(tensors[name]).data)


def _dense_bytes(tensor: Tensor) -> np.ndarray:
    """The elements in row-major order; a bool as 0 or 1, whatever byte it was."""
    array = _numpy.bytes_of(_numpy.to_numpy(tensor.contiguous()))
    return (array != 0).view("uint8") if tensor.dtype == _core.bool_ else array


def _read_header(file: BinaryIO, path: Any) -> tuple[dict[str, _Entry], dict[str, str]]:
    total = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if total < 8 or length > min(total - 8, _LONGEST_HEADER):
        raise CorruptFileError(f"{path} is no safetensors file, or is cut off: {total} bytes, a header of {length}")
    try:
        header = json.loads(file.read(length))
    except ValueError as error:
        raise CorruptFileError(f"{path} is no safetensors file: its header is no JSON ({error})") from None
    if not isinstance(header, dict):
        raise CorruptFileError(f"{path} is no safetensors file: its header is no JSON object")
    metadata = header.pop(_METADATA, None) or {}
    entries = {name: _entry(name, raw, 8 + length, path) for name, raw in header.items()}
    _check_layout(entries, 8 + length, total, path)
    return entries, metadata


def _entry(name: str, raw: Any, start: int, path: Any) -> _Entry:
    try:
        code, shape, (begin, end) = raw["dtype"], tuple(raw["shape"]), raw["data_offsets"]
        numbers = [*shape, begin, end]
    except (TypeError, KeyError, ValueError):
        raise CorruptFileError(f"{path}: the entry of tensor {name!r} is incomplete: {raw!r}") from None
    if any(type(number) is not int or number < 0 for number in numbers):
        raise CorruptFileError(f"{path}: the shape or offsets of tensor {name!r} are no natural numbers: {raw!r}")
    if code not in _NAMES:
        raise CorruptFileError(f"{path}: tensor {name!r} has the dtype {code!r}, which dougong does not know")
    dtype = _core._dtype_from_name(_NAMES[code])
    needed = math.prod(shape) * dtype.itemsize
    if end - begin != needed:
        raise CorruptFileError(
            f"{path}: tensor {name!r} of dtype {code} and shape {shape} needs {needed} bytes; found {end - begin}"
        )
    return _Entry(dtype, shape, start + begin, end - begin)


def _check_layout(entries: Mapping[str, _Entry], start: int, total: int, path: Any) -> None:
    """The tensors fill the file to its end, without holes or overlaps."""
    end = start
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].size)):
        if entry.begin != end:
            raise CorruptFileError(f"{path}: tensor {name!r} begins at byte {entry.begin}; expected {end}")
        end += entry.size
    if end != total:
        raise CorruptFileError(f"{path}: the tensors end at byte {end}, the file has {total}; is it cut off?")


def _read_tree(metadata: Any, entries: Mapping[str, _Entry], path: Any) -> tuple[Any, dict[str, str]]:
    if not isinstance(metadata, dict) or _TREE not in metadata:
        return None, {}
    try:
        content = json.loads(metadata[_TREE])
        version, devices = content["version"], content["devices"]
    except (TypeError, KeyError, ValueError):
        raise CorruptFileError(f"{path}: the metadata of dougong are damaged") from None
    if version != 1:
        raise CorruptFileError(f"{path} has version {version} of dougong's metadata; this dougong reads version 1")
    return content, devices


def _read_array(file: BinaryIO, entry: _Entry, path: Any) -> np.ndarray:
    import numpy as np

    array = np.empty(entry.shape, _numpy.to_numpy_dtype(entry.dtype))
    file.seek(entry.begin)
    if file.readinto(_numpy.bytes_of(array).data) != entry.size:
        raise CorruptFileError(f"{path} became shorter while it was read")
    return array


@dataclass
class _Places:
    """Where each tensor of a file goes."""

    path: Any
    device: Any
    devices: Mapping[str, str]
    _found: dict[str, Any] = field(default_factory=dict)

    def of(self, name: str) -> Any:
        if self.device is not None:
            return self.device
        wanted = self.devices.get(name, "cpu:0")
        if wanted not in self._found:
            self._found[wanted] = self._look_up(name, wanted)
        return self._found[wanted]

    def _look_up(self, name: str, wanted: str) -> Any:
        try:
            return _core.device(wanted)
        except _core.DougongError as error:
            plugin = wanted.split(":")[0]
            raise type(error)(
                f'{self.path}: tensor {name!r} was saved on {wanted}, which the plugin "{plugin}" does not give now '
                f'({error}); install the plugin, or load with device="cpu"'
            ) from error
