"""Launches a kernel on tensors in a layout, and looks at all that it may and may not have touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import attributes, layouts
from .buffer import Buffer
from .case import Fail
from .native import C, NULL, CallError, Device, Kernel, dtype_code, ffi, stream_handle

KDL_EXT_DEV = 12
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
            placement.view(self.image)[...] = values
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

    def run(self, poison: int = 0xFF) -> list[np.ndarray]:
        """The outputs. Raises Fail if anything else was written, Refused if the kernel does not do it."""
        inputs, outputs = self._tensors(poison)
        workspace = None
        try:
            if self.kernel.raw.plan != NULL and self._plan is None:
                self._make_plan(inputs, outputs)
            workspace = Buffer(self.device, self._workspace_size, poison) if self._workspace_size else None
            self._launch(inputs, outputs, workspace)
            return self._inspect(inputs, outputs, workspace)
        finally:
            _close([*inputs, *outputs], workspace)

    def run_refused(self, poison: int, status: int) -> None:
        """Expects the launch to fail with this status, at once or at the next synchronization, and to write nothing."""
        inputs, outputs = self._tensors(poison)
        workspace = None
        try:
            if self.kernel.raw.plan != NULL and self._plan is None:
                self._make_plan(inputs, outputs)
            workspace = Buffer(self.device, self._workspace_size, poison) if self._workspace_size else None
            self._launch(inputs, outputs, workspace, expected=status)
            _require_untouched(inputs + [o for o in outputs if o not in inputs], "the launch failed, and")
        finally:
            _close([*inputs, *outputs], workspace)

    def close(self) -> None:
        if self._plan not in (None, NULL):
            if self.kernel.raw.plan_destroy == NULL:
                raise Fail("plan made an object, and plan_destroy is null")
            self.kernel.raw.plan_destroy(self.kernel.raw.user_data, self._plan)
        self._plan = None

    # -- parts -----------------------------------------------------------------------------------------------------

    def _tensors(self, poison: int) -> tuple[list[Tensor | None], list[Tensor]]:
        inputs = [self._input(i, array, poison) for i, array in enumerate(self.call.inputs)]
        outputs = []
        for i, spec in enumerate(self.call.outputs):
            shared = spec.alias if spec.alias is not None else (self.in_place if i == 0 else None)
            if shared is not None and inputs[shared] is not None:
                outputs.append(inputs[shared])
            else:
                outputs.append(self._output(len(inputs) + i, spec, poison))
        return inputs, outputs

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

    def _output(self, order: int, spec: OutputSpec, poison: int) -> Tensor:
        layout = "dense" if self.layout == "broadcast" else self.layout
        placement = layouts.place(layout, spec.shape, spec.dtype, self.kernel.alignment, order)
        return Tensor(self.device, placement, None, poison)

    def _make_plan(self, inputs: list[Tensor | None], outputs: list[Tensor]) -> None:
        call, _alive = self._struct(inputs, outputs, None, with_data=False)
        size, plan = ffi.new("uint64_t *"), ffi.new("void **")
        status = self.kernel.raw.plan(call, size, plan)
        if status in REFUSALS:
            raise Refused(self.device.plugin.last_error() or "the plan said that it does not do this, with no sentence")
        self.device.plugin.check(f"{self.kernel.op}.plan", status)
        self._plan, self._workspace_size = plan[0], int(size[0])

    def _launch(self, inputs, outputs, workspace: Buffer | None, expected: int = C.DG_STATUS_OK) -> None:
        call, alive = self._struct(inputs, outputs, workspace, with_data=True)
        status = self.kernel.raw.launch(call)
        sentence = self.device.plugin.last_error() if status != C.DG_STATUS_OK else ""
        _scribble(alive)
        found = self._settle(status, sentence)
        if found.status in REFUSALS and expected != found.status:
            _require_untouched([*inputs, *outputs], f"the kernel refused the call ({found.sentence}), and")
            raise Refused(found.sentence or "the kernel said that it does not do this, with no sentence")
        if found.status != expected:
            raise found if found.status else Fail(f"the launch and the synchronization said OK, wanted {_name(expected)}")

    def _settle(self, status: int, sentence: str) -> CallError:
        """The first failure, of the launch or of the stream behind it; status OK if there is none."""
        launched = CallError(f"{self.kernel.op}.launch", status, sentence)
        if self.device.own_stream is None:
            return launched
        try:
            self.device.own_stream.synchronize()
        except CallError as error:
            return launched if status else error
        return launched

    def _struct(self, inputs, outputs, workspace: Buffer | None, with_data: bool) -> tuple[Any, list[Any]]:
        alive: list[Any] = []
        shape = self.call.outputs[0].shape if self.call.broadcast else None
        seen = [NULL if t is None else t.descriptor(self.device, alive, shape, with_data) for t in inputs]
        written = [t.descriptor(self.device, alive, None, with_data) for t in outputs]
        input_table, output_table = ffi.new("dg_tensor_t *[]", seen or 1), ffi.new("dg_tensor_t *[]", written or 1)
        values, more = attributes.make(self.call.op, self.call.attributes)
        call = ffi.new("dg_kernel_call_t *")
        call.struct_size = ffi.sizeof("dg_kernel_call_t")
        call.device, call.stream = self.device.handle, stream_handle(self.device.own_stream)
        call.inputs, call.outputs = input_table, output_table
        call.input_count, call.output_count = len(seen), len(written)
        call.attributes = values
        if workspace is not None:
            call.workspace, call.workspace_offset, call.workspace_size = (
                workspace.handle,
                workspace.offset,
                workspace.size,
            )
        call.plan = self._plan if self._plan is not None else NULL
        call.user_data = self.kernel.raw.user_data
        return call, [*alive, input_table, output_table, *more, call]

    def _inspect(self, inputs, outputs: list[Tensor], workspace: Buffer | None) -> list[np.ndarray]:
        for i, tensor in enumerate(inputs):
            if tensor is not None and tensor not in outputs:
                _require_same(tensor.block(), tensor.image, f"input {i} ({self.call.op.inputs[min(i, len(self.call.op.inputs) - 1)].name}) was changed")
        results = []
        for spec, tensor in zip(self.call.outputs, outputs, strict=True):
            block, gaps = tensor.block(), tensor.placement.gaps()
            _require_same(block[gaps], tensor.image[gaps], f"memory between the elements of output {spec.name} was written")
            results.append(tensor.placement.view(block).copy())
        for thing in {id(t): t.buffer for t in [*inputs, *outputs] if t is not None}.values():
            thing.check()
        if workspace is not None:
            _check_workspace(workspace)
        return results


def _check_workspace(workspace: Buffer) -> None:
    try:
        workspace.check()
    except Fail as failure:
        raise Fail(f"workspace: {failure.message}", failure.detail) from None


def _require_untouched(tensors: Sequence[Tensor | None], prefix: str) -> None:
    for tensor in tensors:
        if tensor is not None:
            _require_same(tensor.block(), tensor.image, f"{prefix} memory was written")
            tensor.buffer.check()


def _require_same(found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    if not np.array_equal(found, wanted):
        wrong = np.flatnonzero(found != wanted)
        raise Fail(f"{what}: {wrong.size} bytes, the first at byte {wrong[0]}")


def _scribble(alive: list[Any]) -> None:
    """Overwrites what was the plugin's during the call only."""
    for thing in alive:
        ffi.buffer(thing)[:] = b"\xa5" * len(ffi.buffer(thing))


def _close(tensors: Sequence[Tensor | None], workspace: Buffer | None) -> None:
    for buffer in {id(t): t.buffer for t in tensors if t is not None}.values():
        buffer.close()
    if workspace is not None:
        workspace.close()


def _dlpack_type(device: Device) -> int:
    if not hasattr(device, "_judge_dlpack_type"):
        device._judge_dlpack_type = int(device.properties().dlpack_device_type) or KDL_EXT_DEV
    return device._judge_dlpack_type


def _name(status: int) -> str:
    from .native import status_name

    return status_name(status)
