"""The judge's own loader: a plugin, its devices, streams and events, as thin as the C API is.

Every call checks the status; a failure raises CallError with the plugin's sentence. Nothing here repairs, caches or
falls back: what a plugin does is what a case sees. A slot that the plugin leaves out raises Unsupported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import header
from .case import Fail, Unsupported

ffi = header.ffi()
C = header.constants()
NULL = ffi.NULL
ENTRY = "dg_plugin_entry_v1"


class CallError(Fail):
    """A slot returned a status other than DG_STATUS_OK."""

    def __init__(self, slot: str, status: int, sentence: str) -> None:
        super().__init__(f"{slot} returned {status_name(status)}: {sentence or '(no sentence)'}")
        self.slot = slot
        self.status = status
        self.sentence = sentence


def status_name(status: int) -> str:
    name = header.names("DG_STATUS_").get(status)
    return f"DG_STATUS_{name}" if name else f"the unknown status {status}"


def dtype_name(dtype: int) -> str | None:
    """``"float32"`` for DG_DTYPE_FLOAT32; None for a value that the headers do not know."""
    name = header.names("DG_DTYPE_").get(dtype)
    return name.lower() if name else None


def dtype_code(name: str) -> int:
    return getattr(C, f"DG_DTYPE_{name.upper()}")


def text(pointer: Any) -> str | None:
    """A C string, or None where it is null. Raises Fail where it is not UTF-8."""
    if pointer == NULL:
        return None
    raw = ffi.string(pointer)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Fail(f"the plugin returned the text {raw!r}, wanted UTF-8: {error}") from None


def prefix(pointer: Any, type_name: str) -> Any:
    """The table's part that both sides know, the rest null: how every struct of the API is read."""
    size = min(int(pointer.struct_size), ffi.sizeof(type_name))
    copy = ffi.new(f"{type_name} *")
    ffi.memmove(copy, pointer, size)
    return copy


class Plugin:
    """A loaded library. ``open`` also initializes it; ``close`` shuts it down and closes the library."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        try:
            self.library = ffi.dlopen(str(self.path), ffi.RTLD_NOW | ffi.RTLD_LOCAL)
        except OSError as error:
            raise Fail(f"{self.path.name} cannot be loaded: {error}") from None
        try:
            entry = getattr(self.library, ENTRY)
        except AttributeError:
            raise Fail(f"{self.path.name} has no symbol {ENTRY}, wanted: the one exported function") from None
        self.raw = entry()
        if self.raw == NULL:
            raise Fail(f"{ENTRY} returned null, wanted: the plugin's table")
        self.table = prefix(self.raw, "dg_plugin_t")
        if self.table.device == NULL:
            raise Fail("dg_plugin_t.device is null, wanted: the device table")
        self.api = prefix(self.table.device, "dg_device_api_t")
        self.context = NULL
        self.initialized = False
        self._host = self._host_name = None

    @classmethod
    def open(cls, path: str | os.PathLike) -> Plugin:
        plugin = cls(path)
        plugin.initialize()
        return plugin

    @property
    def name(self) -> str:
        return text(self.table.name) or ""

    @property
    def version(self) -> str:
        return text(self.table.version) or ""

    def initialize(self) -> None:
        self._host_name = ffi.new("char[]", b"dougong conformance")
        self._host = ffi.new("dg_host_t *")
        self._host.struct_size = ffi.sizeof("dg_host_t")
        self._host.abi_version = abi_version()
        self._host.name = self._host_name
        out = ffi.new("void **")
        self.check("initialize", self._required(self.table.initialize, "dg_plugin_t.initialize")(self._host, out))
        self.context = out[0]
        self.initialized = True

    def shutdown(self) -> None:
        if self.initialized and self.table.shutdown != NULL:
            self.table.shutdown(self.context)
        self.initialized = False
        self.context = NULL

    def close(self) -> None:
        self.shutdown()
        ffi.dlclose(self.library)

    def check(self, slot: str, status: int) -> None:
        if status != C.DG_STATUS_OK:
            raise CallError(slot, status, self.last_error())

    def last_error(self) -> str:
        """The plugin's sentence for this thread's last failure, or an empty text."""
        if self.table.get_last_error == NULL:
            return ""
        return text(self.table.get_last_error(self.context)) or ""

    def device_count(self) -> int:
        out = ffi.new("int32_t *", -1)
        slot = self._required(self.table.device_count, "dg_plugin_t.device_count")
        self.check("device_count", slot(self.context, out))
        return out[0]

    def extension(self, name: str) -> Any:
        """The table of a capability, or null."""
        if self.table.get_extension == NULL:
            return NULL
        return self.table.get_extension(self.context, name.encode())

    def open_device(self, index: int = 0) -> Device:
        return Device(self, index)

    def has(self, slot: str) -> bool:
        return getattr(self.api, slot) != NULL

    @staticmethod
    def _required(slot: Any, name: str) -> Any:
        if slot == NULL:
            raise Fail(f"the required slot {name} is null")
        return slot


def abi_version() -> int:
    numbers = header.defines()
    return numbers["DG_ABI_MAJOR"] << 16 | numbers["DG_ABI_MINOR"]


class Device:
    """An open device: the context of every slot below.

    A copy or fill with ``stream=None`` is queued on the device's own stream (null on a synchronous device) and waited
    for; one with a stream is queued there and not waited for.
    """

    def __init__(self, plugin: Plugin, index: int = 0) -> None:
        self.plugin = plugin
        self.index = index
        out = ffi.new("dg_device_t **")
        slot = plugin._required(plugin.api.device_create, "dg_device_api_t.device_create")
        plugin.check("device_create", slot(plugin.context, index, out))
        self.handle = out[0]
        self._own_stream: Stream | None = None

    def close(self) -> None:
        if self._own_stream:
            self._own_stream.close()
        if self.handle != NULL:
            self.plugin.api.device_destroy(self.handle)
        self.handle = NULL

    def has(self, slot: str) -> bool:
        return self.plugin.has(slot)

    def call(self, slot: str, *arguments: Any) -> None:
        """Calls a slot of the device table that begins with the device, and checks its status."""
        self.plugin.check(slot, self.status_of(slot, *arguments))

    def status_of(self, slot: str, *arguments: Any) -> int:
        """The same, for cases that expect a failure."""
        function = getattr(self.plugin.api, slot)
        if function == NULL:
            raise Unsupported(f"dg_device_api_t.{slot} is null", wants=f"dg_device_api_t.{slot}")
        return function(self.handle, *arguments)

    def properties(self) -> Any:
        out = ffi.new("dg_device_properties_t *")
        out.struct_size = ffi.sizeof("dg_device_properties_t")
        self.call("device_get_properties", out)
        return out

    @property
    def alignment(self) -> int:
        return int(self.properties().alignment) or 64

    def dtypes(self) -> tuple[str, ...] | None:
        """The names of the element types that the device declares; None where it declares all."""
        listed = self.properties().dtypes
        return None if listed == NULL else tuple(dtype_name(code) or hex(code) for code in until_none(listed))

    @property
    def synchronous(self) -> bool:
        return not self.has("stream_create")

    @property
    def own_stream(self) -> Stream | None:
        """Where work goes that names no stream; None on a synchronous device."""
        if self._own_stream is None and not self.synchronous:
            self._own_stream = Stream(self)
        return self._own_stream

    def queue(self, slot: str, *arguments: Any, stream: Stream | None) -> None:
        """Calls a slot whose last argument is the stream; waits if no stream was named."""
        chosen = stream or self.own_stream
        self.call(slot, *arguments, stream_handle(chosen))
        if stream is None and chosen is not None:
            chosen.synchronize()

    # -- memory ----------------------------------------------------------------------------------------------------

    def allocate(self, size: int, kind: int | None = None) -> Any:
        out = ffi.new("void **")
        self.call("memory_allocate", C.DG_MEMORY_DEVICE if kind is None else kind, size, out)
        if out[0] == NULL:
            raise Fail(f"memory_allocate of {size} bytes returned DG_STATUS_OK and a null handle")
        return out[0]

    def free(self, handle: Any, kind: int | None = None) -> None:
        self.call("memory_free", C.DG_MEMORY_DEVICE if kind is None else kind, handle)

    def memory_info(self) -> tuple[int, int]:
        """Bytes of device memory: free now, and in all."""
        free, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self.call("memory_get_info", free, total)
        return free[0], total[0]

    def upload(self, handle: Any, offset: int, data: Any, stream: Stream | None = None) -> None:
        """Copies host bytes in."""
        source = ffi.from_buffer(data)
        if len(source):
            self.queue("copy_host_to_device", handle, offset, source, len(source), stream=stream)

    def download(self, handle: Any, offset: int, size: int, stream: Stream | None = None) -> bytes:
        """Copies bytes out to pageable memory: they are there when the call has returned."""
        target = bytearray(size)
        if size:
            pointer = ffi.from_buffer(target, require_writable=True)
            self.queue("copy_device_to_host", pointer, handle, offset, size, stream=stream)
        return bytes(target)

    def copy(self, to: Any, to_offset: int, source: Any, source_offset: int, size: int, stream: Stream | None = None):
        self.queue("copy_device_to_device", to, to_offset, source, source_offset, size, stream=stream)

    def fill(self, to: Any, offset: int, pattern: bytes, count: int, stream: Stream | None = None) -> None:
        self.queue("memory_fill", to, offset, ffi.from_buffer(pattern), len(pattern), count, stream=stream)

    # -- objects ---------------------------------------------------------------------------------------------------

    def kernels(self) -> list[Kernel]:
        """The plugin's kernel table; empty where the slot is null."""
        if not self.has("device_get_kernels"):
            return []
        table, count = ffi.new("const dg_kernel_t *const **"), ffi.new("size_t *")
        self.call("device_get_kernels", table, count)
        return [Kernel(table[0][i]) for i in range(count[0])]


class Kernel:
    """An entry of the kernel table, read as the common prefix. ``raw`` is the struct, for its functions."""

    def __init__(self, pointer: Any) -> None:
        if pointer == NULL:
            raise Fail("an entry of the kernel table is null")
        self.raw = prefix(pointer, "dg_kernel_t")
        self.op = text(self.raw.op)
        self.flags = self.raw.flags
        self.alignment = self.raw.alignment

    def types(self, variable: int) -> tuple[int, ...] | None:
        """The dtype codes accepted for a type variable; None where the kernel takes all that the op allows."""
        listed = self.raw.types[variable]
        return None if listed == NULL else tuple(until_none(listed))

    def has(self, flag: str) -> bool:
        """``flag`` is STRIDED, IN_PLACE or DETERMINISTIC."""
        return bool(self.flags & getattr(C, f"DG_KERNEL_{flag}"))


def until_none(listed: Any, limit: int = 64) -> Iterator[int]:
    """The dtype codes of a list that DG_DTYPE_NONE ends."""
    for i in range(limit):
        if listed[i] == C.DG_DTYPE_NONE:
            return
        yield int(listed[i])
    raise Fail(f"a list of dtypes has no DG_DTYPE_NONE within its first {limit} entries")


class Stream:
    def __init__(self, device: Device, priority: int = 0) -> None:
        self.device = device
        out = ffi.new("dg_stream_t **")
        device.call("stream_create", priority, out)
        self.handle = out[0]
        self._callbacks: list[Any] = []

    def query(self) -> bool:
        """Whether all work queued so far is done."""
        return self._done("stream_query", self.device.status_of("stream_query", self.handle))

    def _done(self, slot: str, status: int) -> bool:
        if status == C.DG_STATUS_NOT_READY:
            return False
        self.device.plugin.check(slot, status)
        return True

    def synchronize(self) -> None:
        self.device.call("stream_synchronize", self.handle)

    def wait(self, event: Event) -> None:
        self.device.call("stream_wait_event", self.handle, event.handle)

    def add_callback(self, function: Callable[[int], None]) -> None:
        """``function(status)`` runs on a thread of the plugin; it stays alive as long as the stream does."""
        callback = ffi.callback("void(void *, dg_status_t)", lambda _, status: function(status))
        self._callbacks.append(callback)
        self.device.call("stream_add_callback", self.handle, callback, NULL)

    def close(self) -> None:
        if self.handle != NULL:
            self.device.call("stream_destroy", self.handle)
        self.handle = NULL


class Event:
    def __init__(self, device: Device, timing: bool = False) -> None:
        self.device = device
        out = ffi.new("dg_event_t **")
        device.call("event_create", int(timing), out)
        self.handle = out[0]

    def record(self, stream: Stream) -> None:
        self.device.call("event_record", self.handle, stream.handle)

    def query(self) -> bool:
        status = self.device.status_of("event_query", self.handle)
        if status == C.DG_STATUS_NOT_READY:
            return False
        self.device.plugin.check("event_query", status)
        return True

    def synchronize(self) -> None:
        self.device.call("event_synchronize", self.handle)

    def elapsed(self, end: Event) -> float:
        """Milliseconds from this event to ``end``."""
        out = ffi.new("double *")
        self.device.call("event_elapsed", self.handle, end.handle, out)
        return out[0]

    def close(self) -> None:
        if self.handle != NULL:
            self.device.call("event_destroy", self.handle)
        self.handle = NULL


def stream_handle(stream: Stream | None) -> Any:
    return NULL if stream is None else stream.handle
