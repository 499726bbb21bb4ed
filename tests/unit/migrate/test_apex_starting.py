"""CM102: scales that only the run tells, bounds, branches, functions registered as half."""

from __future__ import annotations

import pytest

from unit.migrate.apex_loops import HEAD, START, code, level
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
        'GradScaler("cuda", init_scale=2.0**16 if args.scale in (None, "dynamic") else '
        "float(args.scale), growth_interval=2000 if args.scale in "
        '(None, "dynamic") else 2**31 - 1)'
    ) in text


@pytest.mark.parametrize("more", ["type=float, default=0", "type=int, default=-1", "default=0.0"])
def test_a_flag_whose_default_is_nothing_stays(more: str) -> None:
    text = FLAGS.format(more=more) + level("loss_scale=args.scale")
    assert "is constant or dynamic is known" in refused("CM102", text)


def test_both_notes_hold_for_a_scale_that_only_the_run_tells() -> None:
    [change] = migrate("CM102", level("loss_scale=config.scale")).changes
    assert "halves the scale permanently" in change.hint
    assert "apex stopped at 2**24" in change.hint


def test_a_scale_that_is_computed_stays() -> None:
    text = level('loss_scale="dynamic" if auto else 128.0')
    assert "is constant or dynamic is known" in refused("CM102", text)


# bounds of a dynamic scale


def test_bounds_are_kept_behind_every_update() -> None:
    text = changed("CM102", level("min_loss_scale=128, max_loss_scale=2.0**17"))
    assert 'scaler = torch.amp.GradScaler("cuda")\n' in text
    assert (
        """\
    scaler.update()
    if scaler.get_scale() < 128.0:
        scaler.update(128.0)
    if scaler.get_scale() > 131072.0:
        scaler.update(131072.0)
    optimizer.zero_grad()
"""
        in text
    )


def test_a_low_bound_begins_there() -> None:
    text = changed("CM102", level("max_loss_scale=1024.0"))
    assert 'GradScaler("cuda", init_scale=1024.0)\n' in text


def test_a_named_bound_leaves_nothing_to_note() -> None:
    [change] = migrate("CM102", level("max_loss_scale=2**20")).changes
    assert "2**24" not in change.hint


def test_a_constant_scale_has_no_bounds() -> None:
    text = changed("CM102", level("loss_scale=128.0, min_loss_scale=1.0, max_loss_scale=256.0"))
    assert "get_scale" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        "max_loss_scale=args.most",
        "max_loss_scale=0",
        "max_loss_scale=True",
        "loss_scale=args.scale, max_loss_scale=1024.0",
    ],
)
def test_bounds_that_are_not_certain(arguments: str) -> None:
    assert "no upper limit" in refused("CM102", level(arguments))


def test_bounds_under_a_condition() -> None:
    loop = """\
if args.fp16:
    model, optimizer = amp.initialize(model, optimizer, min_loss_scale=1)
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    if args.fp16:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss.backward()
    optimizer.step()
"""
    assert """\
    if args.fp16:
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < 1.0:
            scaler.update(1.0)
    else:
        optimizer.step()
""" in changed("CM102", HEAD + loop)


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


def test_two_branches_that_start_the_same() -> None:
    start = TWO.format(first=ONE_MODEL, second=TWO_MODELS)
    text = changed("CM102", code(start))
    made = 'scaler = torch.amp.GradScaler("cuda")'
    assert f"if teacher is None:\n    {made}\nelse:\n    {made}\n" in text
    assert "    scaler.step(optimizer)\n    scaler.update()\n" in text


def test_two_branches_under_the_condition_of_half_precision() -> None:
    start = TWO.format(first=ONE_MODEL, second=TWO_MODELS)
    start = "if args.fp16:\n" + "".join(f"    {line}\n" for line in start.splitlines())
    loop = """\
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    if args.fp16:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss.backward()
    optimizer.step()
"""
    text = changed("CM102", code(start, loop))
    assert text.count('        scaler = torch.amp.GradScaler("cuda")\n') == 2
    assert "    if args.fp16:\n        scaler.step(optimizer)" in text


def test_three_branches() -> None:
    start = f"if one:\n    {ONE_MODEL}\nelif two:\n    {TWO_MODELS}\nelse:\n    {ONE_MODEL}\n"
    assert changed("CM102", code(start)).count("= torch.amp.GradScaler") == 3


def test_the_branch_that_chooses_is_none_of_half_precision() -> None:
    # Both branches of the loop are scaled: `teacher is None` says nothing about that.
    start = TWO.format(first=ONE_MODEL, second=TWO_MODELS)
    loop = """\
for inputs, targets in loader:
    if teacher is None:
        loss = criterion(model(inputs), targets)
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss = criterion(model(inputs), teacher(inputs))
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    optimizer.step()
"""
    text = changed("CM102", code(start, loop))
    assert text.count("scaler.scale(loss).backward()") == 2
    assert text.count("scaler.step(optimizer)") == 1
    assert "else:\n        optimizer.step()" not in text


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (START + START, "in several places"),
        (f"if one:\n    {ONE_MODEL}\nif two:\n    {ONE_MODEL}\n", "in several places"),
        (
            f"if one:\n    {ONE_MODEL}\nelse:\n    {ONE_MODEL}\n    {ONE_MODEL}\n",
            "in several places",
        ),
        (
            TWO.format(first=ONE_MODEL, second=ONE_MODEL.replace("O1", "O2")),
            "other arguments in another branch",
        ),
        (
            TWO.format(first=ONE_MODEL, second=ONE_MODEL.replace('"O1"', '"O1", loss_scale=8')),
            "other arguments in another branch",
        ),
        (TWO.format(first=ONE_MODEL, second=ONE_MODEL.replace("O1", "O3")), "opt_level O3"),
    ],
)
def test_starts_that_are_not_one(start: str, message: str) -> None:
    assert message in refused("CM102", code(start))


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
        "amp.register_half_function(torch.nn.functional, 'softmax')",
        "amp.register_half_function(ours, 'einsum')",
        "amp.register_float_function(torch, 'einsum')",
        "amp.register_half_function(module=torch, function_name='einsum')",
        "done = amp.register_half_function(torch, 'einsum')",
    ],
)
def test_functions_that_autocast_does_not_know(line: str) -> None:
    assert "adds a function" in refused("CM102", code(START + f"{line}\n"))
