"""DLPack both ways: with NumPy, and with capsules built by hand that use all that the specification allows."""

from __future__ import annotations

import ctypes
import gc
import threading

import dougong
import numpy as np
import pytest


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Unversioned(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
FLOAT, INT = 2, 0


def integers(values):
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)


# The deleter is Python code, and may be called long after a test has forgotten its producer.
ALIVE = []


class Producer:
    """A capsule over a NumPy array's memory, and how often its deleter was called."""

    def __init__(self, array, shape, strides=None, byte_offset=0, versioned=True, **fields):
        ALIVE.append(self)
        self.array, self.deleted = array, 0
        self.shape, self.strides = integers(shape), integers(strides)
        self.deleter = DELETER(self._delete)
        self.managed = Versioned() if versioned else Unversioned()
        if versioned:
            self.managed.major, self.managed.minor = fields.pop("version", (1, 0))
            self.managed.flags = fields.pop("flags", 0)
        tensor = self.managed.tensor
        tensor.data = None if array is None else array.ctypes.data
        tensor.device_type, tensor.ndim, tensor.byte_offset = 1, 0 if shape is None else len(shape), byte_offset
        tensor.code, tensor.bits, tensor.lanes = FLOAT, 32, 1
        if self.shape is not None:
            tensor.shape = self.shape
        if self.strides is not None:
            tensor.strides = self.strides
        for name, value in fields.items():
            setattr(tensor, name, value)
        self.managed.deleter = self.deleter
        self.capsule = new_capsule(
            ctypes.addressof(self.managed), b"dltensor_versioned" if versioned else b"dltensor", None
        )

    def _delete(self, _):
        self.deleted += 1


@pytest.fixture
def array():
    return np.arange(8, dtype=np.float32)


both = pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "unversioned"])


# -- import --------------------------------------------------------------------------------------------------------


@both
def test_byte_offset_counts(array, versioned):
    producer = Producer(array, [7], byte_offset=4, versioned=versioned)
    x = dougong.from_dlpack(producer.capsule)
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7]
    x.add_(10)
    assert array.tolist() == [0, 11, 12, 13, 14, 15, 16, 17]
    assert x.data_ptr() == array.ctypes.data + 4
    again = dougong.from_dlpack(x)
    assert again.data_ptr() == x.data_ptr()
    assert again.tolist() == x.tolist()


@both
@pytest.mark.parametrize("shape", [None, []])
def test_scalar_with_an_offset_and_without_shape(array, versioned, shape):
    x = dougong.from_dlpack(Producer(array, shape, byte_offset=12, versioned=versioned).capsule)
    assert x.shape == ()
    assert x.item() == 3


@both
def test_null_strides_mean_dense(array, versioned):
    x = dougong.from_dlpack(Producer(array, [2, 3], versioned=versioned).capsule)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.strides == (3, 1)


@both
def test_any_strides_are_honoured(array, versioned):
    x = dougong.from_dlpack(Producer(array, [2, 3], [1, 2], versioned=versioned).capsule)
    assert x.tolist() == [[0, 2, 4], [1, 3, 5]]
    reverse = Producer(array, [4], [-1], byte_offset=12, versioned=versioned)
    assert dougong.from_dlpack(reverse.capsule).tolist() == [3, 2, 1, 0]


@both
def test_empty_tensor_may_have_no_data(versioned):
    x = dougong.from_dlpack(Producer(None, [0, 4], versioned=versioned).capsule)
    assert x.shape == (0, 4)
    assert (x + 1).shape == (0, 4)


def test_read_only_memory_is_read_but_not_written(array):
    x = dougong.from_dlpack(Producer(array, [8], flags=1).capsule)
    assert (x + 1).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    for write in (lambda: x.add_(1), lambda: x[2:].fill_(0), lambda: x.copy_(x + 1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert array.tolist() == list(range(8))
    with pytest.raises(ValueError, match="read-only"):
        x.__dlpack__()


BAD = [
    ({"lanes": 4}, "lanes"),
    ({"code": 77}, "77"),
    ({"bits": 24}, "24"),
    ({"device_type": 99}, "99"),
    ({"device_type": 1, "ndim": 4000}, "4000"),
    ({"data": None}, "no data"),
    ({"version": (2, 0)}, r"2\.0"),
]


@pytest.mark.parametrize(("fields", "text"), BAD)
def test_what_we_cannot_read_is_refused_and_given_back_once(array, fields, text):
    producer = Producer(array, [8], **fields)
    with pytest.raises(dougong.DougongError, match=text):
        dougong.from_dlpack(producer.capsule)
    expected = 0 if "version" in fields else 1  # of another major we do not even know where the deleter is
    del producer.capsule
    gc.collect()
    assert producer.deleted == expected


def test_negative_size_is_refused(array):
    producer = Producer(array, [-2])
    with pytest.raises(ValueError, match="-2"):
        dougong.from_dlpack(producer.capsule)
    assert producer.deleted == 1


# -- lifetime ------------------------------------------------------------------------------------------------------


@both
def test_deleter_is_called_once_when_the_last_view_is_gone(array, versioned):
    producer = Producer(array, [8], versioned=versioned)
    x = dougong.from_dlpack(producer.capsule)
    view = x[2:]
    del x
    gc.collect()
    assert producer.deleted == 0
    assert view.tolist() == [2, 3, 4, 5, 6, 7]
    del view
    gc.collect()
    assert producer.deleted == 1


@both
def test_capsule_can_be_consumed_once(array, versioned):
    producer = Producer(array, [8], versioned=versioned)
    x = dougong.from_dlpack(producer.capsule)
    with pytest.raises(ValueError, match="consumed"):
        dougong.from_dlpack(producer.capsule)
    del x
    gc.collect()
    assert producer.deleted == 1
    with pytest.raises((ValueError, TypeError)):
        dougong.from_dlpack(object())


def test_last_reference_may_go_in_another_thread(array):
    producer = Producer(array, [8])
    box = [dougong.from_dlpack(producer.capsule)]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert producer.deleted == 1


def exported(x, versioned):
    capsule = x.__dlpack__(max_version=(1, 0)) if versioned else x.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    kind, name = (Versioned, b"dltensor_versioned") if versioned else (Unversioned, b"dltensor")
    return capsule, ctypes.cast(pointer(capsule, name), ctypes.POINTER(kind)).contents


@both
def test_deleter_may_be_called_without_the_interpreter_lock(versioned):
    x = dougong.arange(4).float()
    capsule, managed = exported(x, versioned)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = (ctypes.py_object, ctypes.c_char_p)
    rename(capsule, b"used")
    # CFUNCTYPE objects release the lock while they run C code.
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.cast(managed.deleter, ctypes.c_void_p).value)
    delete(ctypes.addressof(managed))
    assert x.tolist() == [0, 1, 2, 3]


@both
def test_unconsumed_capsule_gives_its_tensor_back(versioned):
    before = dougong.device("cpu:0").memory_stats()["allocated"] if hasattr(dougong.Device, "memory_stats") else None
    x = dougong.zeros(1 << 20)
    capsule, _ = exported(x, versioned)
    del x
    gc.collect()
    del capsule, _
    gc.collect()
    if before is not None:
        assert dougong.device("cpu:0").memory_stats()["allocated"] == before


# -- export --------------------------------------------------------------------------------------------------------


@both
def test_export_describes_the_view(versioned):
    x = dougong.arange(12).float().reshape(3, 4)[1:, ::2]
    capsule, managed = exported(x, versioned)
    tensor = managed.tensor
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes) == (2, FLOAT, 32, 1)
    assert (tensor.device_type, tensor.device_id) == x.__dlpack_device__() == (1, 0)
    assert tensor.shape[:2] == [2, 2]
    assert tensor.strides[:2] == [4, 2]
    assert tensor.data + tensor.byte_offset == x.data_ptr()
    if versioned:
        assert managed.major == 1
        assert managed.flags == 0
    del capsule


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "float16", "float32", "float64"])
def test_numpy_takes_our_tensors_and_we_take_its_arrays(dtype):
    x = dougong.tensor([[1, 0, 1], [0, 1, 1]], dtype=getattr(dougong, dtype))
    array = np.from_dlpack(x.T)
    assert array.dtype == dtype
    assert array.tolist() == x.T.tolist()
    back = dougong.from_dlpack(array)
    assert back.data_ptr() == x.data_ptr()
    assert back.dtype == x.dtype
    del x, back
    gc.collect()
    assert array.tolist() == [[1, 0], [0, 1], [1, 1]]


def test_empty_and_scalar_tensors_go_both_ways():
    assert np.from_dlpack(dougong.zeros(0, 2048)).shape == (0, 2048)
    assert np.from_dlpack(dougong.tensor(5.0)).item() == 5
    assert dougong.from_dlpack(np.zeros((2, 0, 3))).shape == (2, 0, 3)


def test_copies_and_other_devices_are_explicit():
    x = dougong.ones(3)
    assert np.from_dlpack(x, copy=True).ctypes.data != x.data_ptr()
    assert dougong.from_dlpack(np.ones(3), copy=True).tolist() == [1, 1, 1]
    with pytest.raises(BufferError, match=r"\(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="detach"):
        dougong.ones(1, requires_grad=True).__dlpack__()
    assert np.from_dlpack(x.requires_grad_().detach()).tolist() == [1, 1, 1]


def test_tensor_is_its_own_namespace():
    assert dougong.ones(1).__array_namespace__() is dougong


# -- streams -------------------------------------------------------------------------------------------------------


@pytest.fixture
def slow(named):
    """An asynchronous plugin whose every piece of work takes a while, and its library."""
    path = named("q_dlpack", source="queue")
    dougong.load_plugin(path)
    library = ctypes.CDLL(str(path))
    yield library
    library.queue_set_delay(0)
    dougong.device("q_dlpack:0").synchronize()


@pytest.mark.parametrize("consumer", [None, "another stream"])
def test_consumer_sees_what_was_queued_before_the_export(slow, consumer):
    """The test is the consumer: it waits for its own stream alone, and looks at the memory itself."""
    device = dougong.device("q_dlpack:0")
    base, stream = dougong.zeros(1024, device=device), dougong.Stream(device)
    device.synchronize()
    slow.queue_set_delay(30)
    base.copy_(dougong.full((1024,), 7.0))
    base.__dlpack__(stream=stream.handle if consumer else None)
    if consumer:
        stream.synchronize()
    memory = (ctypes.c_float * 1024).from_address(base.data_ptr())
    assert list(memory) == [7.0] * 1024


def test_minus_one_asks_for_no_ordering(slow):
    """The export returns while work of the stream is still held back."""
    device = dougong.device("q_dlpack:0")
    base, stream = dougong.ones(16, device=device), dougong.current_stream(device)
    device.synchronize()
    slow.queue_hold(1)
    try:
        stream.add_callback(lambda status: None)
        base.__dlpack__(stream=-1)
        assert not stream.query()
    finally:
        slow.queue_hold(0)
    stream.synchronize()
    assert stream.query()
