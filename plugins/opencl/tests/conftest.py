"""The tests need an OpenCL device: PoCL will do (`make opencl-runtime`)."""

from __future__ import annotations

import dougong
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    try:
        dougong.device("opencl:0")
    except dougong.UnsupportedError as error:
        reason = str(error)
        for item in items:
            if "plugins/opencl" in str(item.path):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def on_the_device_alone():
    with dougong.strict():
        yield
