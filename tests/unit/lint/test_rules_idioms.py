"""The message about a first window of another length (CL104)."""

from __future__ import annotations

from crosscast_reading.lint.registry import find_rule
from reading_helpers.lint_results import swap

ACCUMULATION, EPOCHS = find_rule("CL101").right, find_rule("CL103").wrong

# ---- counters that a method tests and its caller moves


def test_lengths_of_first_windows_do_not_count_with_defaults() -> None:
    from crosscast.messages.source import Source
    from crosscast_reading.lint.engine import lint_sources

    text = "import argparse\n" + swap(
        ACCUMULATION,
        (
            "steps = 4\n",
            "parser = argparse.ArgumentParser()\n"
            'parser.add_argument("--steps", type=int, default=1)\n'
            "args = parser.parse_args()\ndone = 0\n",
        ),
        ("/ steps", "/ args.steps"),
        ("    loss.backward()\n", "    loss.backward()\n    done += 1\n"),
        ("(step + 1) % steps", "(done + 1) % args.steps"),
    )
    messages = [
        finding.message
        for finding in lint_sources([Source("train.py", text)])
        if finding.code == "CL104"
    ]
    assert messages == ["the first window has args.steps - 1 micro-batches instead of args.steps"]
