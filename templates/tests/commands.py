"""Commands that a test runs as a vendor would."""

import importlib.util
import subprocess
import sys


def cmake() -> list[str]:
    """The command cmake: the one of the environment, else the machine's."""
    return [sys.executable, "-m", "cmake"] if importlib.util.find_spec("cmake") else ["cmake"]


def run(command, **options) -> str:
    """Runs a command that must succeed, and returns what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout
