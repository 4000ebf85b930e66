"""What all tests share: Jupyter and IPython without the configuration of whoever runs the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Configuration, data, runtime and history of this session live in a temporary folder, in every kernel too."""
    home = tmp_path_factory.mktemp("jupyter")
    names = ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"]
    own = {name: str(home / name.lower()) for name in names}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(own)
    yield own
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
