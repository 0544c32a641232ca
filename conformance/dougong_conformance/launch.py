"""Launches a kernel on tensors in a layout, and looks at all that it may and may not have touched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import attributes, layouts
from .buffer import Buffer
from .case import Fail
from .native import NULL, C, CallError, Device, Kernel, dtype_code, ffi, status_name, stream_handle

KDL_EXT_DEV = 12
# NaN in every float type, then a number in each. With the second one true is written as other bytes than 1, too.
POISONS = (0xFF, 0xA5)
REFUSALS = (C.DG_STATUS_UNSUPPORTED, C.DG_STATUS_UNIMPLEMENTED)


@dataclass(frozen=True)
class OutputSpec:
    """What an output will be. ``alias`` is the index of the input whose memory it is, for each kernel by its op."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    alias: int | None = None


@dataclass(frozen=True)
class Call:
    """A call of a kernel, as host arrays. ``None`` stands for an optional input that is left out.

    ``broadcast`` says that the op is elementwise: inputs are described with the shape of the first output.
    """

    op: Any
    inputs: tuple[np.ndarray | None, ...]
    attributes: dict[str, Any]
    outputs: tuple[OutputSpec, ...]
    broadcast: bool = False


class Refused(Exception):
    """The kernel said UNSUPPORTED or UNIMPLEMENTED; nothing was written."""


class Tensor:
    """A tensor in device memory. ``image`` is what its block held before the launch."""

    def __init__(self, device: Device, placement: layouts.Placement, values: np.ndarray | None, poison: int) -> None:
        self.placement = placement
        self.image = np.full(placement.size, poison, np.uint8)
        if values is not None:
            placement.view(self.image)[...] = values if poison == POISONS[0] else _other_trues(values)
        self.buffer = Buffer(device, placement.size, poison)
        self.buffer.write(self.image)

    def descriptor(self, device: Device, alive: list[Any], shape: Sequence[int] | None, with_data: bool) -> Any:
        seen = self.placement if shape is None else layouts.place_broadcast(shape, self.placement)
        tensor = ffi.new("dg_tensor_t *")
        sizes, strides = ffi.new("int64_t[]", list(seen.shape) or 1), ffi.new("int64_t[]", list(seen.strides) or 1)
        tensor.data = self.buffer.handle if with_data else NULL
        tensor.byte_offset = self.buffer.offset + seen.offset if with_data else 0
        tensor.device_type, tensor.device_id = _dlpack_type(device), device.index
        tensor.ndim, tensor.dtype = len(seen.shape), dtype_code(str(seen.dtype))
        tensor.shape, tensor.strides = sizes, strides
        alive += [tensor, sizes, strides]
        return tensor

    def block(self) -> np.ndarray:
        return np.frombuffer(self.buffer.read(), np.uint8).copy()


class Launch:
    """One kernel, one call, one layout. ``run`` may be called again: the plan is kept, the memory is new each time."""

    def __init__(self, device: Device, kernel: Kernel, call: Call, layout: str, in_place: int | None = None) -> None:
        self.device, self.kernel, self.call, self.layout = device, kernel, call, layout
        self.in_place = in_place  # the input whose memory the first output shares
        self._plan = None
        self._workspace_size = 0

    def run(self, poison: int = 0xFF) -> list[np.ndarray | None]:
        """The outputs. Raises Fail if anything else was written, Refused if the kernel does not do it."""
        with self._memory(poison) as memory:
            status, error = self._launch(memory)
            if status in REFUSALS:
                memory.require_untouched(f"the kernel refused the call ({error.sentence}), and")
                raise Refused(error.sentence or f"the kernel said {status_name(status)}, with no sentence")
            if status != C.DG_STATUS_OK:
                raise error
            return self._inspect(memory)

    def run_failing(self, poison: int, wanted: int) -> None:
        """Expects the launch to fail with this status, at once or at the next synchronization, and to write nothing."""
        with self._memory(poison) as memory:
            status, error = self._launch(memory)
            if status == C.DG_STATUS_OK:
                raise Fail(f"{self.call.op.name}: launch and synchronization said OK, wanted {status_name(wanted)}")
            if status != wanted:
                raise error
            memory.require_untouched(f"the launch said {status_name(status)}, and")

    def close(self) -> None:
        if self._plan not in (None, NULL):
            if self.kernel.raw.plan_destroy == NULL:
                raise Fail("plan made an object, and plan_destroy is null")
            self.kernel.raw.plan_destroy(self.kernel.raw.user_data, self._plan)
        self._plan = None

    # -- parts -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _memory(self, poison: int) -> Iterator[Memory]:
        with Memory() as memory:
            memory.inputs = [self._input(i, array, poison) for i, array in enumerate(self.call.inputs)]
            memory.outputs = [self._output(i, spec, memory.inputs, poison) for i, spec in enumerate(self.call.outputs)]
            if self.kernel.raw.plan != NULL and self._plan is None:
                self._make_plan(memory)
            if self._workspace_size:
                memory.workspace = Buffer(self.device, self._workspace_size, poison)
            yield memory

    def _input(self, order: int, array: np.ndarray | None, poison: int) -> Tensor | None:
        if array is None:
            return None
        layout = self.layout
        written = [spec.alias for spec in self.call.outputs] + [self.in_place]
        if order in written and layout == "broadcast":
            layout = "dense"
        if self.call.broadcast and not self.kernel.has("STRIDED"):
            array = np.broadcast_to(array, self.call.outputs[0].shape)
        placement = layouts.place_input(layout, array, self.kernel.alignment, order)
        return Tensor(self.device, placement, array, poison)

    def _output(self, i: int, spec: OutputSpec, inputs: list[Tensor | None], poison: int) -> Tensor | None:
        """An alias of an input that is left out is left out too."""
        shared = spec.alias if spec.alias is not None else (self.in_place if i == 0 else None)
        if shared is not None:
            return inputs[shared]
        layout = "dense" if self.layout == "broadcast" else self.layout
        placement = layouts.place(layout, spec.shape, spec.dtype, self.kernel.alignment, len(inputs) + i)
        return Tensor(self.device, placement, None, poison)

    def _make_plan(self, memory: Memory) -> None:
        call, _alive = self._struct(memory, with_data=False)
        size, plan = ffi.new("uint64_t *"), ffi.new("void **")
        status = self.kernel.raw.plan(call, size, plan)
        if status in REFUSALS:
            raise Refused(self.device.plugin.last_error() or f"plan said {status_name(status)}, with no sentence")
        self.device.plugin.check(f"{self.kernel.op}.plan", status)
        self._plan, self._workspace_size = plan[0], int(size[0])

    def _launch(self, memory: Memory) -> tuple[int, CallError]:
        """The first failure, of the launch or of the stream behind it, as status and error."""
        call, alive = self._struct(memory, with_data=True)
        status = self.kernel.raw.launch(call)
        error = CallError(f"{self.kernel.op}.launch", status, self.device.plugin.last_error() if status else "")
        _scribble(alive)
        try:
            if self.device.own_stream is not None:
                self.device.own_stream.synchronize()
        except CallError as later:
            error = error if status else later
        return error.status, error

    def _struct(self, memory: Memory, with_data: bool) -> tuple[Any, list[Any]]:
        """The call, and all that it points to."""
        alive: list[Any] = []
        shape = self.call.outputs[0].shape if self.call.broadcast else None
        seen = [NULL if t is None else t.descriptor(self.device, alive, shape, with_data) for t in memory.inputs]
        written = [NULL if t is None else t.descriptor(self.device, alive, None, with_data) for t in memory.outputs]
        inputs, outputs = ffi.new("dg_tensor_t *[]", seen or 1), ffi.new("dg_tensor_t *[]", written or 1)
        values, more = attributes.make(self.call.op, self.call.attributes)
        call = ffi.new("dg_kernel_call_t *")
        call.struct_size = ffi.sizeof("dg_kernel_call_t")
        call.device, call.stream = self.device.handle, stream_handle(self.device.own_stream)
        call.inputs, call.input_count = inputs, len(seen)
        call.outputs, call.output_count = outputs, len(written)
        call.attributes, call.user_data = values, self.kernel.raw.user_data
        call.plan = NULL if self._plan is None else self._plan
        if memory.workspace is not None:
            call.workspace, call.workspace_offset = memory.workspace.handle, memory.workspace.offset
            call.workspace_size = memory.workspace.size
        return call, [*alive, inputs, outputs, *more, call]

    def _inspect(self, memory: Memory) -> list[np.ndarray | None]:
        """The outputs, once it is sure that nothing else was written; None for one that was left out."""
        for i, tensor in enumerate(memory.inputs):
            if tensor is not None and tensor not in memory.outputs:
                name = self.call.op.inputs[min(i, len(self.call.op.inputs) - 1)].name
                _require_same(tensor.block(), tensor.image, f"input {i} ({name}) was changed")
        outputs = zip(self.call.outputs, memory.outputs, strict=True)
        results = [None if tensor is None else self._result(spec.name, tensor) for spec, tensor in outputs]
        memory.check_canaries()
        return results

    def _result(self, name: str, tensor: Tensor) -> np.ndarray:
        block, gaps = tensor.block(), tensor.placement.gaps()
        _require_same(block[gaps], tensor.image[gaps], f"output {name}: memory between its elements was written")
        return tensor.placement.view(block).copy()


class Memory:
    """The device memory of one launch: given back at the end of the block, checked on request."""

    def __init__(self) -> None:
        self.inputs: list[Tensor | None] = []
        self.outputs: list[Tensor | None] = []
        self.workspace: Buffer | None = None

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        for tensor in self._tensors():
            tensor.buffer.close()
        if self.workspace is not None:
            self.workspace.close()

    def check_canaries(self) -> None:
        for tensor in self._tensors():
            tensor.buffer.check()
        if self.workspace is not None:
            try:
                self.workspace.check()
            except Fail as failure:
                raise Fail(f"workspace: {failure.message}", failure.detail) from None

    def require_untouched(self, prefix: str) -> None:
        for tensor in self._tensors():
            _require_same(tensor.block(), tensor.image, f"{prefix} memory was written")
        self.check_canaries()

    def _tensors(self) -> list[Tensor]:
        """Each once, also where an output is an input."""
        return list(dict.fromkeys(t for t in [*self.inputs, *self.outputs] if t is not None))


def _other_trues(values: np.ndarray) -> np.ndarray:
    """The same values; of a bool array, true as 1, 2, 255 and 128 in turn."""
    if values.dtype != np.bool_:
        return values
    trues = np.resize(np.array([2, 255, 1, 128], np.uint8), values.shape)
    return np.where(values, trues, 0).astype(np.uint8).view(np.bool_)


def _require_same(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    if not np.array_equal(found, wanted):
        wrong = np.flatnonzero(found != wanted)
        raise Fail(f"{what}: {wrong.size} bytes, the first at byte {wrong[0]}")


def _scribble(alive: list[Any]) -> None:
    """Overwrites what was the plugin's during the call only."""
    for thing in alive:
        ffi.buffer(thing)[:] = b"\xa5" * len(ffi.buffer(thing))


def _dlpack_type(device: Device) -> int:
    if not hasattr(device, "_judge_dlpack_type"):
        device._judge_dlpack_type = int(device.properties().dlpack_device_type) or KDL_EXT_DEV
    return device._judge_dlpack_type
