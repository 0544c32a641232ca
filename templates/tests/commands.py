"""Commands that a test runs as a vendor would."""

import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path


def cmake() -> list[str]:
    """The command cmake: the one of the environment, else the machine's."""
    return [sys.executable, "-m", "cmake"] if importlib.util.find_spec("cmake") else ["cmake"]


def run(command, **options) -> str:
    """Runs a command that must succeed, and returns what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def environment(folder: Path) -> tuple[Path, Path]:
    """A fresh environment with the packages of this one, but without dougong: its interpreter and its site-packages."""
    run([sys.executable, "-m", "venv", "--without-pip", folder])
    python = folder / "bin" / "python"
    site = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]).strip())
    for entry in Path(sysconfig.get_path("platlib")).iterdir():
        if "dougong" not in entry.name and entry.suffix != ".pth" and not (site / entry.name).exists():
            (site / entry.name).symlink_to(entry)
    return python, site
