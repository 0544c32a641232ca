import pytest
from cpu_driver import Cpu


@pytest.fixture(scope="session")
def cpu() -> Cpu:
    return Cpu()
