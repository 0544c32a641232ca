"""`python -m dougong_conformance` is `dougong conformance`."""

from .cli import conformance

conformance(prog_name="dougong conformance")
