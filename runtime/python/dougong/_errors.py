"""One exception class a status of the device API.

::

    DougongError (RuntimeError)
    ├── NotReadyError                            the work is still running
    ├── InvalidArgumentError (ValueError)        the call makes no sense
    ├── OutOfMemoryError (MemoryError)           nothing was changed; the device is still usable
    ├── UnsupportedError                         never: this chip does not do it
    ├── UnimplementedError (NotImplementedError) not yet: the chip could, the plugin does not
    ├── OutOfRangeError (IndexError)             an index in the data points outside its axis
    ├── DeviceLostError                          every later call on the device says the same
    ├── TimedOutError (TimeoutError)             a peer or the device did not answer in time
    ├── AbortedError                             the work was cancelled
    ├── IncompatibleError                        a plugin, a driver or a file does not fit
    └── InternalError                            a bug of the plugin, or of dougong
"""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """``dg_status_t``."""

    OK = 0
    NOT_READY = 1
    INVALID_ARGUMENT = 2
    OUT_OF_MEMORY = 3
    UNSUPPORTED = 4
    UNIMPLEMENTED = 5
    OUT_OF_RANGE = 6
    DEVICE_LOST = 7
    TIMED_OUT = 8
    ABORTED = 9
    INCOMPATIBLE = 10
    INTERNAL = 11

    @classmethod
    def _missing_(cls, value: object) -> Status:
        return cls.INTERNAL  # what this API does not know is a failure


class DougongError(RuntimeError):
    """The base of all errors that dougong raises for a device."""

    status = Status.INTERNAL


class NotReadyError(DougongError):
    status = Status.NOT_READY


class InvalidArgumentError(DougongError, ValueError):
    status = Status.INVALID_ARGUMENT


class OutOfMemoryError(DougongError, MemoryError):
    status = Status.OUT_OF_MEMORY


class UnsupportedError(DougongError):
    status = Status.UNSUPPORTED


class UnimplementedError(DougongError, NotImplementedError):
    status = Status.UNIMPLEMENTED


class OutOfRangeError(DougongError, IndexError):
    status = Status.OUT_OF_RANGE


class DeviceLostError(DougongError):
    status = Status.DEVICE_LOST


class TimedOutError(DougongError, TimeoutError):
    status = Status.TIMED_OUT

    def __new__(cls, *arguments: object) -> TimedOutError:
        return TimeoutError.__new__(cls, *arguments)  # RuntimeError's does not know the fields of an OSError


class AbortedError(DougongError):
    status = Status.ABORTED


class IncompatibleError(DougongError):
    status = Status.INCOMPATIBLE


class InternalError(DougongError):
    status = Status.INTERNAL


CLASSES = (
    NotReadyError,
    InvalidArgumentError,
    OutOfMemoryError,
    UnsupportedError,
    UnimplementedError,
    OutOfRangeError,
    DeviceLostError,
    TimedOutError,
    AbortedError,
    IncompatibleError,
    InternalError,
)
