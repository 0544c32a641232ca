"""The judge: says what a dougong plugin does right, what it does wrong, and what to write next.

The levels `abi`, `memory`, `stream` and `kernel` drive the plugin through cffi and the public C headers alone, so that
the judge shares no code with the runtime. The levels `grad` and `train` go through the runtime.
"""

LEVELS = ("abi", "memory", "stream", "kernel", "grad", "train")
RUNTIME_LEVELS = ("grad", "train")
VERDICTS = ("pass", "fail", "unsupported", "xfail", "not_run")
