"""What the tests of the harness share."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)
