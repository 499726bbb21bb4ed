"""CM102: scales that only the run tells, bounds, branches, functions registered as half."""

from __future__ import annotations

import pytest

from unit.migrate.apex_loops import START, code, level
from unit.migrate.migrating import changed, migrate, refused

# a scale that only the run tells

FLAGS = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--scale", {more})
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    "more", ["type=str, default=None", 'default="dynamic"', "type=float, default=128.0", ""]
)
def test_a_scale_by_flag_means_what_it_meant(more: str) -> None:
    flags = FLAGS.format(more=more).replace(", )", ")")
    text = changed("CM102", flags + level("loss_scale=args.scale"))
    assert (
        """\
scaler = torch.amp.GradScaler(
    "cuda",
    init_scale=2.0**16 if args.scale in (None, "dynamic") else float(args.scale),
    growth_interval=2000 if args.scale in (None, "dynamic") else 2**31 - 1,
)
"""
        in text
    )


@pytest.mark.parametrize("more", ["type=float, default=0", "type=int, default=-1", "default=0.0"])
def test_a_flag_whose_default_is_nothing_stays(more: str) -> None:
    text = FLAGS.format(more=more) + level("loss_scale=args.scale")
    assert "is constant or dynamic is known" in refused("CM102", text)


def test_both_notes_hold_for_a_scale_that_only_the_run_tells() -> None:
    [change] = migrate("CM102", level("loss_scale=config.scale")).changes
    assert "halves the scale permanently" in change.hint
    assert "apex stopped at 2**24" in change.hint


@pytest.mark.parametrize(
    "scale", ['"dynamic" if args.s == 0 else args.s', 'args.s or "dynamic"', "choose(args)"]
)
def test_a_scale_that_is_computed_at_run_time_is_named(scale: str) -> None:
    assert "is constant or dynamic is known" in refused("CM102", level(f"loss_scale={scale}"))


# a level that only the run tells


@pytest.mark.parametrize(
    "written",
    ['"O%i" % args.amp', '"O{:d}".format(args.amp)', 'f"O{args.amp}"', '"O1" if x else y'],
)
def test_a_level_that_is_computed_is_named(written: str) -> None:
    [refusal] = migrate("CM102", level(f"opt_level={written}")).refusals
    assert "the level is computed" in refusal.message
    assert refusal.hint == "choose a fixed level, or set it with a flag"


# bounds of a dynamic scale


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("min_loss_scale=128", "min_loss_scale: GradScaler of torch has no lower limit"),
        ("max_loss_scale=args.most", "max_loss_scale: GradScaler of torch has no upper limit"),
    ],
)
def test_bounds_are_named(arguments: str, message: str) -> None:
    [refusal] = migrate("CM102", level(arguments)).refusals
    assert refusal.message == message
    assert "scaler.update(...)" in refusal.hint


# branches

TWO = """\
if teacher is None:
    {first}
else:
    {second}
"""
ONE_MODEL = 'model, optimizer = amp.initialize(model, optimizer, opt_level="O1")'
TWO_MODELS = (
    '[model, teacher], optimizer = amp.initialize([model, teacher], optimizer, opt_level="O1")'
)


@pytest.mark.parametrize(
    "start",
    [
        START + START,
        f"if one:\n    {ONE_MODEL}\nif two:\n    {ONE_MODEL}\n",
        TWO.format(first=ONE_MODEL, second=TWO_MODELS),
    ],
)
def test_several_starts_are_named(start: str) -> None:
    assert "in several places" in refused("CM102", code(start))


# functions registered as half

EINSUM = """\
if args.fp16:
    try:
        import apex
        apex.amp.register_half_function(torch, "einsum")
    except ImportError:
        raise ImportError("Please install apex")
"""


def test_einsum_is_half_under_autocast_anyway() -> None:
    text = changed("CM102", code(EINSUM + START))
    assert "apex" not in text
    assert "einsum" not in text
    assert "args.fp16" not in text
    [change] = migrate("CM102", code(EINSUM + START)).changes
    assert "run in half under autocast anyway" in change.hint


@pytest.mark.parametrize(
    "line",
    [
        "amp.register_half_function(torch, 'softmax')",
        "amp.register_half_function(torch, name)",
        "amp.register_half_function(ours, 'einsum')",
        "amp.register_float_function(torch, 'einsum')",
        "done = amp.register_half_function(torch, 'einsum')",
    ],
)
def test_functions_that_autocast_does_not_know(line: str) -> None:
    assert "adds a function" in refused("CM102", code(START + f"{line}\n"))
