"""The plug-in of `tests/plugin`, installed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from package.plugin_lab import Lab, install


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which nothing but the plug-in is installed."""
    folder = tmp_path_factory.mktemp("plugins")
    install(folder)
    return folder


@pytest.fixture(scope="session")
def lab(plugins: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Compile the recipe and make its data."""
    return Lab(plugins, tmp_path_factory.mktemp("lab"))
