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
    ("scale", "dynamic", "constant"),
    [
        ('"dynamic" if args.s == 0 else args.s', "args.s == 0", "float(args.s)"),
        ('128 if args.s else "dynamic"', "not args.s", "128.0"),
        ("args.s if args.s > 0 else None", "not (args.s > 0)", "float(args.s)"),
        ('args.s or "dynamic"', "not args.s", "float(args.s)"),
        ("a[0] if b else c", '(a[0] if b else c) in (None, "dynamic")', "float(a[0] if b else c)"),
    ],
)
def test_a_scale_that_is_chosen_at_run_time(scale: str, dynamic: str, constant: str) -> None:
    text = changed("CM102", level(f"loss_scale={scale}"))
    assert f"    init_scale=2.0**16 if {dynamic} else {constant},\n" in text
    assert f"    growth_interval=2000 if {dynamic} else 2**31 - 1,\n" in text


def test_a_scale_of_a_call_stays() -> None:
    assert "is constant or dynamic is known" in refused("CM102", level("loss_scale=choose(args)"))


# a level that only the run tells


@pytest.mark.parametrize(
    "written",
    ['"O%i" % args.amp', '"O%d" % (args.amp,)', '"O{:d}".format(args.amp)', 'f"O{args.amp:d}"'],
)
def test_a_number_with_the_letter_before_it_is_compared_as_a_number(written: str) -> None:
    text = changed("CM102", level(f"opt_level={written}"))
    assert 'if args.amp == 3:\n    raise ValueError("torch.amp has no level O3")\n' in text
    assert 'GradScaler("cuda", enabled=args.amp != 0)' in text


def test_numbers_without_three_need_no_check() -> None:
    flags = FLAGS.format(more="type=int, default=1, choices=[0, 1]")
    text = changed("CM102", flags + level('opt_level="O%d" % args.scale'))
    assert "raise" not in text


@pytest.mark.parametrize("written", ['f"O{args.amp}"', '("O%s" % args.amp)'])
def test_a_text_with_the_letter_before_it_is_compared_as_a_text(written: str) -> None:
    text = changed("CM102", level(f"opt_level={written}"))
    assert f'if {written} == "O3":\n' in text
    assert f'GradScaler("cuda", enabled={written} != "O0")' in text


@pytest.mark.parametrize("written", ['"P%d" % args.amp', 'f"O{args.amp!r}"', '"O%d" % choose()'])
def test_other_formats_stay(written: str) -> None:
    assert "the level is computed" in refused("CM102", level(f"opt_level={written}"))


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
