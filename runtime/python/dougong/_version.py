"""The version, read by the build from this line."""

__version__ = "0.1.0"
