"""Why launch.rendezvous: elastic is refused for Paddle (CC384)."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


def test_only_etcd_makes_the_launcher_elastic() -> None:
    found = run_python(Path(__file__).with_name("launcher_facts.py"), "paddle")
    assert [master for master, elastic in found.items() if elastic] == ["etcd://127.0.0.1:2379"]
