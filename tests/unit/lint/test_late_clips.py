"""Clipping that a static graph of Paddle gets too late (CL304)."""

from __future__ import annotations

import pytest

from reading_helpers.lint_results import codes

GRAPH = """
import paddle.fluid as fluid

CLIP = fluid.clip.GradientClipByGlobalNorm(1.0)

def build(trains):
    loss = fluid.layers.mean(net())
    {before}
    if trains:
        optimizer = fluid.optimizer.Adam(0.001)
        optimizer.minimize(loss)
    return loss

def main(program):
    {first}
    loss = build(True)
    {behind}
    exe = fluid.Executor(fluid.CPUPlace())
    for rows in loader():
        exe.run(program, feed=rows, fetch_list=[loss])
    {last}

main(fluid.default_main_program())
"""
SETS = "fluid.clip.set_gradient_clip(CLIP)"


@pytest.mark.parametrize(
    ("place", "line", "found"),
    [
        ("behind", SETS, True),
        ("behind", "fluid.clip.set_gradient_clip(CLIP, program=program)", True),
        ("behind", f"if limit: {SETS}", True),
        ("behind", f"{SETS}; build(False)", False),
        ("behind", f"{SETS}; other = build(True)", False),
        ("behind", f"build(False); {SETS}", True),
        ("behind", "clip.set(CLIP)", False),
        ("before", SETS, False),
        ("first", SETS, False),
        ("last", SETS, True),
        ("last", f"{SETS}; main(program)", False),
        ("last", f"for part in parts: build(part); {SETS}", False),
    ],
)
def test_clips_of_graphs(place: str, line: str, found: bool) -> None:
    places = dict.fromkeys(("before", "first", "behind", "last"), "pass")
    assert ("CL304" in codes(GRAPH.format(**places | {place: line}))) is found


def test_clips_set_by_a_function() -> None:
    text = GRAPH.format(before="pass", first="pass", behind="limit()", last="pass")
    limit = f"\ndef limit():\n    {SETS}\n"
    assert "CL304" in codes(text + limit)
    assert "CL304" not in codes(text + limit + "\nlimit()\nbuild(True)\n")
    assert "CL304" not in codes(text + limit.replace("limit", "unused"))


def test_update_that_nothing_calls() -> None:
    text = GRAPH.format(before="pass", first="pass", behind=SETS, last="pass")
    assert "CL304" not in codes(text + "\ndef more(loss):\n    optimizer.minimize(loss)\n")


def test_branches() -> None:
    text = "import paddle.fluid as fluid\nif late:\n    optimizer.minimize(loss)\nelse:\n    "
    assert "CL304" not in codes(f"{text}{SETS}\n")
