"""The dougong plugin of the devices "[[name]]:0", "[[name]]:1", ..."""

from pathlib import Path


def plugin_path() -> str:
    """The plugin's library, which dougong loads when a [[name]] device is first asked for."""
    return str(Path(__file__).with_name("libdg_[[name]].so"))
