"""Why scripts average gradients themselves, and give every process a port (CC327, CC381)."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def steps() -> dict[str, Any]:
    program = Path(__file__).with_name("facts_distributed.py")
    found: dict[str, Any] = run_python(program, "tensorflow")
    return found


def test_gradients_are_summed_over_replicas(steps: dict[str, Any]) -> None:
    assert steps["finite"] == {"weight": -3.0, "scale": 4.0}


def test_an_overflow_of_the_first_replica_skips_the_step(steps: dict[str, Any]) -> None:
    assert steps["first overflows"] == {"weight": 0.0, "scale": 2.0}


def test_an_overflow_of_another_replica_destroys_the_weights(steps: dict[str, Any]) -> None:
    assert steps["second overflows"] == {"weight": -math.inf, "scale": 4.0}


def test_statistics_are_those_of_each_replica(steps: dict[str, Any]) -> None:
    assert steps["statistics"] == [0.0, 4.0]


def test_an_update_outside_of_replicas_is_made_once_and_sums_nothing(steps: dict[str, Any]) -> None:
    assert steps["outside"] == [2.0, 2.0]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_a_process_listens_on_all_addresses() -> None:
    """So two processes of a machine need two ports, whatever addresses they are given."""
    found = run_python(Path(__file__).with_name("facts_listening.py"), "tensorflow")
    assert found == {"a socket": [True, False], "a process": [True, True]}


def test_what_is_read_stands_on_no_device_until_it_is_copied(steps: dict[str, Any]) -> None:
    # A strategy cannot reduce the first.
    assert steps["devices"] == {"value": False, "identity": True}


def test_nobody_can_say_how_long_a_strategy_waits_for_workers(steps: dict[str, Any]) -> None:
    # That of communication_options is for collective operations, which come later.
    assert steps["strategy"] == ["cluster_resolver", "communication_options"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere SIGTERM ends a process at once")
def test_a_strategy_takes_sigterm_until_it_is_given_back() -> None:
    found = run_python(Path(__file__).with_name("facts_signals.py"), "tensorflow")
    assert found == {"with a strategy": False, "given back": True}
