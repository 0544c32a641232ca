"""Level abi: the library, its tables, and opening and closing what they describe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .. import elf, header
from ..case import Case, Context, Fail, NotRun, Unsupported
from ..native import NULL, C, Device, Plugin, abi_version, dtype_name, ffi, status_name, text, until_none
from ..session import Session
from ..threads import in_threads

LEVEL = "abi"
MAX_STRUCT_SIZE = 65536
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")

REQUIRED_PLUGIN = ("name", "version", "initialize", "device_count", "device")
REQUIRED_DEVICE = (
    "device_create",
    "device_destroy",
    "device_get_properties",
    "memory_allocate",
    "memory_free",
    "copy_host_to_device",
    "copy_device_to_host",
)
STREAM_GROUP = ("stream_create", "stream_destroy", "stream_query", "stream_synchronize")
EVENT_GROUP = ("event_create", "event_destroy", "event_record", "event_query", "event_synchronize")
NEED_STREAMS = ("stream_wait_event", "stream_add_callback")


def cases(context: Context) -> Iterator[Case]:
    for name, rules, function, isolated in CASES:
        summary = " ".join((function.__doc__ or "").split())
        yield Case(f"abi/{name}", LEVEL, rules, function, summary=summary, isolated=isolated)


# ---- The library and its tables ----------------------------------------------------------------------------------


def one_export(session: Session) -> None:
    """The library exports the entry symbol and nothing else, so that no plugin can disturb another."""
    try:
        symbols = elf.exported_symbols(session.library)
    except elf.NotElf as error:
        raise NotRun(str(error)) from None
    if symbols != ["dg_plugin_entry_v1"]:
        others = [name for name in symbols if name != "dg_plugin_entry_v1"]
        message = f"{len(others)} symbols besides dg_plugin_entry_v1 are exported: {', '.join(others[:8])}"
        raise Fail(message, "compile with -fvisibility=hidden and link with -Wl,--exclude-libs,ALL")


def same_table(session: Session) -> None:
    """The entry returns the same table each time."""
    plugin = Plugin(session.library)
    again = plugin.library.dg_plugin_entry_v1()
    if again != plugin.raw:
        raise Fail(f"dg_plugin_entry_v1 returned {plugin.raw}, then {again}, wanted: the same table")


def table_sizes(session: Session) -> None:
    """Each table's struct_size covers its required slots and is sane."""
    plugin = Plugin(session.library)
    _check_size("dg_plugin_t", plugin.raw.struct_size, _end_of("dg_plugin_t", "device"))
    _check_size("dg_device_api_t", plugin.table.device.struct_size, _end_of("dg_device_api_t", "copy_device_to_host"))


def _end_of(struct: str, field: str) -> int:
    return ffi.offsetof(struct, field) + ffi.sizeof("void *")


def _check_size(struct: str, found: int, least: int) -> None:
    if not least <= found <= MAX_STRUCT_SIZE:
        raise Fail(f"{struct}.struct_size is {found}, wanted: {least} to {MAX_STRUCT_SIZE}; set it to sizeof({struct})")


def required_slots(session: Session) -> None:
    """No required slot is null."""
    plugin = Plugin(session.library)
    missing = [f"dg_plugin_t.{slot}" for slot in REQUIRED_PLUGIN if getattr(plugin.table, slot) == NULL]
    missing += [f"dg_device_api_t.{slot}" for slot in REQUIRED_DEVICE if getattr(plugin.api, slot) == NULL]
    if missing:
        raise Fail(f"required slots are null: {', '.join(missing)}")


def groups(session: Session) -> None:
    """The slots of a group are all null or all present, and events come with streams only."""
    plugin = Plugin(session.library)
    streams = _group(plugin, "stream", STREAM_GROUP)
    events = _group(plugin, "event", EVENT_GROUP)
    if events and not streams:
        raise Fail("the event slots are present but the stream slots are null")
    alone = [slot for slot in NEED_STREAMS if plugin.has(slot) and not streams]
    alone += ["event_elapsed"] if plugin.has("event_elapsed") and not events else []
    if alone:
        raise Fail(f"{', '.join(alone)} present without the group that it belongs to")


def _group(plugin: Plugin, name: str, slots: tuple[str, ...]) -> bool:
    present = [slot for slot in slots if plugin.has(slot)]
    if present and len(present) < len(slots):
        missing = [slot for slot in slots if slot not in present]
        raise Fail(f"the {name} group is incomplete: {', '.join(missing)} null, {', '.join(present)} present")
    return bool(present)


def names(session: Session) -> None:
    """Name, version and vendor are well formed, the name is the library's, and the major version is 1."""
    plugin = Plugin(session.library)
    name, version = text(plugin.table.name), text(plugin.table.version)
    text(plugin.table.vendor)
    if not name or not NAME.fullmatch(name):
        raise Fail(f"the name is {name!r}, wanted: a lower-case letter, then at most 30 of a-z, 0-9 and _")
    if not version:
        raise Fail("the version is null or empty, wanted: a text like 1.2.0")
    if plugin.table.abi_version >> 16 != abi_version() >> 16:
        raise Fail(f"abi_version is {plugin.table.abi_version:#x}, wanted: DG_ABI_VERSION as built, major 1")
    stem = session.library.name.split(".")[0]
    if stem.startswith("libdg_") and stem != f"libdg_{name}":
        raise Fail(f"the library {session.library.name} calls itself {name!r}, wanted: the file libdg_{name}.so")


# ---- Host and plugin of other minor versions ---------------------------------------------------------------------


def host_without_log(session: Session) -> None:
    """The plugin works with a host that keeps no log."""
    plugin = Plugin.open(session.library)  # the judge's host has no log
    Device(plugin, session.index).close()
    plugin.close()


def longer_host(session: Session) -> None:
    """The plugin works with a host whose structs have grown at the end."""
    plugin = Plugin(session.library)
    size = ffi.sizeof("dg_host_t") + 64
    memory = ffi.new("char[]", size)
    host = ffi.cast("dg_host_t *", memory)
    host.struct_size, host.abi_version = size, abi_version() + 9
    name = ffi.new("char[]", b"dougong conformance, a later minor version")
    host.name = name
    out = ffi.new("void **")
    plugin.check("initialize", plugin.table.initialize(host, out))
    plugin.context, plugin.initialized = out[0], True
    device = Device(plugin, session.index)
    device.close()
    plugin.close()


def properties_stay_inside(session: Session) -> None:
    """device_get_properties writes nothing behind the struct_size that the host gave."""
    size = ffi.sizeof("dg_device_properties_t")
    memory = ffi.new("uint8_t[]", size + 256)
    properties = ffi.cast("dg_device_properties_t *", memory)
    ffi.memmove(memory + size, b"\xa5" * 256, 256)
    properties.struct_size = size
    session.device.call("device_get_properties", properties)
    if bytes(ffi.buffer(memory + size, 256)) != b"\xa5" * 256:
        raise Fail("device_get_properties wrote behind the struct_size that the host gave")
    if properties.struct_size != size:
        raise Fail(f"device_get_properties changed struct_size from {size} to {properties.struct_size}")


# ---- Errors ------------------------------------------------------------------------------------------------------


def bad_index(session: Session) -> None:
    """Opening a device outside 0 to count - 1 is INVALID_ARGUMENT, and leaves the out parameter alone."""
    plugin = session.plugin
    marker = ffi.cast("dg_device_t *", 0x5A5A)
    for index in (plugin.device_count(), -1, 2**31 - 1, -(2**31)):
        out = ffi.new("dg_device_t **", marker)
        status = plugin.api.device_create(plugin.context, index, out)
        if status != C.DG_STATUS_INVALID_ARGUMENT:
            raise Fail(f"device_create of index {index} returned {status_name(status)}, wanted: INVALID_ARGUMENT")
        if out[0] != marker:
            raise Fail(f"device_create of index {index} failed and wrote its out parameter all the same")


def error_sentence(session: Session) -> None:
    """A failed call leaves a sentence."""
    sentence = _provoke(session.plugin)
    if len(sentence.split()) < 2:
        raise Fail(f"after a failed device_create get_last_error says {sentence!r}, wanted: a sentence")


def _provoke(plugin: Plugin) -> str:
    if plugin.table.get_last_error == NULL:
        raise Unsupported("dg_plugin_t.get_last_error is null", wants="dg_plugin_t.get_last_error")
    out = ffi.new("dg_device_t **")
    plugin.api.device_create(plugin.context, plugin.device_count(), out)
    return plugin.last_error()


def error_per_thread(session: Session) -> None:
    """The sentence belongs to the thread of the failed call; failures on another thread do not change it."""
    plugin = session.plugin
    count = plugin.device_count()
    before = _provoke(plugin)
    other: list[str] = []

    def fail_otherwise() -> None:
        plugin.api.device_create(plugin.context, count + 7, ffi.new("dg_device_t **"))
        other.append(plugin.last_error())

    in_threads([fail_otherwise])
    after = plugin.last_error()
    if after != before:
        raise Fail(f"a failure on another thread changed this thread's sentence from {before!r} to {after!r}")
    if not other[0]:
        raise Fail("a failed call on another thread left no sentence there")


def known_statuses(session: Session) -> None:
    """Calls with wrong arguments return a status that the headers know, and the process lives on."""
    device, plugin = session.device, session.plugin
    out = ffi.new("void **")
    statuses = {
        "device_create(index = -1)": plugin.api.device_create(plugin.context, -1, ffi.new("dg_device_t **")),
        "memory_allocate(kind = 99)": device.status_of("memory_allocate", 99, 64, out),
        "memory_allocate(kind = -1)": device.status_of("memory_allocate", -1, 64, out),
        "memory_allocate(2^62 bytes)": device.status_of("memory_allocate", C.DG_MEMORY_DEVICE, 2**62, out),
        "memory_allocate(2^64 - 1 bytes)": device.status_of("memory_allocate", C.DG_MEMORY_DEVICE, 2**64 - 1, out),
    }
    for call, status in statuses.items():
        if status not in header.names("DG_STATUS_"):
            raise Fail(f"{call} returned {status_name(status)}, wanted: one of DG_STATUS_*")
        if status in (C.DG_STATUS_OK, C.DG_STATUS_NOT_READY):
            raise Fail(f"{call} returned {status_name(status)}, wanted: a failure")
    session.buffer(64).check()


def unknown_extension(session: Session) -> None:
    """get_extension is null for an id that nobody knows."""
    if session.plugin.table.get_extension == NULL:
        raise Unsupported("dg_plugin_t.get_extension is null")
    for name in ("dg.nobody_has_this/1", "", "dg."):
        if session.plugin.extension(name) != NULL:
            raise Fail(f"get_extension({name!r}) is not null")


# ---- Devices -----------------------------------------------------------------------------------------------------


def device_count(session: Session) -> None:
    """device_count is from 0 to 4096, and the same each time."""
    counts = [session.plugin.device_count() for _ in range(10)]
    if not 0 <= counts[0] <= 4096 or len(set(counts)) != 1:
        raise Fail(f"device_count gave {sorted(set(counts))}, wanted: one number from 0 to 4096")


def opened_twice(session: Session) -> None:
    """A device may be opened twice; closing one leaves the other working."""
    first, second = Device(session.plugin, session.index), Device(session.plugin, session.index)
    handle = first.allocate(64)
    second.close()
    first.upload(handle, 0, b"\x11" * 64)
    if first.download(handle, 0, 64) != b"\x11" * 64:
        raise Fail("after the second of two openings was closed, the first one does not copy right")
    first.free(handle)
    first.close()


def open_close_cycles(session: Session) -> None:
    """A hundred times: open, allocate, copy, free, close."""
    for i in range(100):
        device = Device(session.plugin, session.index)
        handle = device.allocate(4096)
        device.upload(handle, 0, bytes([i]) * 4096)
        if device.download(handle, 0, 4096) != bytes([i]) * 4096:
            raise Fail(f"in round {i} of opening and closing, a copy came back wrong")
        device.free(handle)
        device.close()


def concurrent_opens(session: Session) -> None:
    """Eight threads open, use and close the device at a time."""

    def use() -> None:
        for _ in range(10):
            device = Device(session.plugin, session.index)
            data = session.rng().bytes(1000)
            handle = device.allocate(1000)
            device.upload(handle, 0, data)
            if device.download(handle, 0, 1000) != data:
                raise Fail("a copy came back wrong while other threads opened and closed the device")
            device.free(handle)
            device.close()

    in_threads([use] * 8)


def properties(session: Session) -> None:
    """The properties are well formed."""
    found = session.device.properties()
    text(found.name), text(found.architecture)
    problems = list(_problems(found))
    if problems:
        raise Fail("; ".join(problems))
    session.device.dtypes()


def _problems(found) -> Iterator[str]:
    known = sum(header.names("DG_DEVICE_"))
    if found.alignment & (found.alignment - 1):
        yield f"alignment is {found.alignment}, wanted: zero or a power of two"
    if found.capabilities & ~known:
        yield f"capabilities has unknown bits {found.capabilities & ~known:#x}"
    if not found.lowest_priority <= 0 <= found.highest_priority:
        yield f"priorities are {found.lowest_priority} to {found.highest_priority}, wanted: lowest <= 0 <= highest"
    for name in ("peak_bandwidth", "peak_flops", "compute_units", "dlpack_device_type"):
        if not getattr(found, name) >= 0:
            yield f"{name} is {getattr(found, name)}, wanted: zero or more"
    listed = [] if found.dtypes == NULL else list(until_none(found.dtypes))
    unknown = [hex(code) for code in listed if dtype_name(code) is None]
    if unknown or len(set(listed)) != len(listed):
        yield f"dtypes has unknown or repeated entries: {unknown or [hex(code) for code in listed]}"


def kernel_table(session: Session) -> None:
    """Each kernel is for a known op, with dtypes that the op allows, known flags and a launch; the table is stable."""
    if not session.device.has("device_get_kernels"):
        raise Unsupported("dg_device_api_t.device_get_kernels is null", wants="dg_device_api_t.device_get_kernels")
    kernels = session.device.kernels()
    for number, kernel in enumerate(kernels):
        problem = _kernel_problem(kernel)
        if problem:
            raise Fail(f"kernel {number} ({kernel.op}): {problem}")
    again = session.device.kernels()
    if [bytes(ffi.buffer(k.raw)) for k in kernels] != [bytes(ffi.buffer(k.raw)) for k in again]:
        raise Fail("device_get_kernels gave another table at the second call")


def _kernel_problem(kernel) -> str | None:
    if kernel.op not in header.op_names():
        return "there is no such op; the names are the macros of dg_ops.h"
    if kernel.raw.launch == NULL:
        return "launch is null"
    if kernel.flags & ~sum(header.names("DG_KERNEL_")):
        return f"flags has unknown bits: {kernel.flags:#x}"
    if kernel.alignment & (kernel.alignment - 1):
        return f"alignment is {kernel.alignment}, wanted: zero or a power of two"
    variables = header.definitions().load(kernel.op).types
    for i in range(len(kernel.raw.types)):
        listed = kernel.types(i)
        allowed = variables[i].dtypes if i < len(variables) else ()
        wrong = [dtype_name(code) or hex(code) for code in listed or () if dtype_name(code) not in allowed]
        if wrong:
            return f"type variable {i} accepts {', '.join(wrong)}; the op allows {', '.join(allowed) or 'none'}"
    return None


# ---- Life --------------------------------------------------------------------------------------------------------


def orderly_end(session: Session) -> None:
    """Everything given back, shut down, and the process ends with exit code 0."""
    plugin = Plugin.open(session.library)
    device = plugin.open_device(session.index)
    device.free(device.allocate(1 << 20))
    device.close()
    plugin.close()


def sudden_end(session: Session) -> None:
    """Nothing given back and no shutdown: the process still ends with exit code 0."""
    plugin = Plugin.open(session.library)
    device = plugin.open_device(session.index)
    handle = device.allocate(1 << 20)
    device.upload(handle, 0, b"\x01" * (1 << 20))


CASES = [
    ("library/one-export", ("ABI-003",), one_export, False),
    ("library/same-table", ("ABI-003",), same_table, True),
    ("table/sizes", ("ABI-001",), table_sizes, True),
    ("table/required-slots", ("ABI-004",), required_slots, True),
    ("table/groups", ("ABI-005",), groups, True),
    ("table/names", ("ABI-006",), names, True),
    ("host/no-log", ("ABI-007",), host_without_log, True),
    ("host/later-minor", ("ABI-007", "ABI-001"), longer_host, True),
    ("device/count", ("DEV-001",), device_count, False),
    ("device/properties", ("DEV-004",), properties, False),
    ("device/properties-size", ("ABI-002",), properties_stay_inside, False),
    ("device/bad-index", ("DEV-002",), bad_index, False),
    ("device/opened-twice", ("DEV-003",), opened_twice, False),
    ("device/open-close-100", ("DEV-003", "MEM-013"), open_close_cycles, False),
    ("device/open-from-8-threads", ("DEV-006",), concurrent_opens, False),
    ("error/sentence", ("ABI-008",), error_sentence, False),
    ("error/per-thread", ("ABI-008",), error_per_thread, False),
    ("error/known-statuses", ("ABI-009",), known_statuses, False),
    ("extension/unknown", ("ABI-010",), unknown_extension, False),
    ("kernel/table", ("KRN-002",), kernel_table, False),
    ("life/orderly-end", ("ABI-009",), orderly_end, True),
    ("life/sudden-end", ("ABI-009",), sudden_end, True),
]
