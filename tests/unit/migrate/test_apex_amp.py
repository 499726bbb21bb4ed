"""CM102: loops with apex.amp as they are written, and those that must stay."""

from __future__ import annotations

import pytest

from unit.migrate.apex_loops import HEAD, LOOP, START, WINDOW, code, level
from unit.migrate.migrating import changed, refused


def scaler(arguments: str) -> str:
    """The line that makes the scaler."""
    lines = changed("CM102", level(arguments)).split("\n")
    return next(line for line in lines if "GradScaler" in line)


# what the arguments become


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('opt_level="O1"', ""),
        ('opt_level="O1", verbosity=0', ""),
        ('opt_level="O1", loss_scale="dynamic"', ""),
        ('opt_level="O1", loss_scale=None, min_loss_scale=None', ""),
        ('"O1"', None),
        ("loss_scale=128.0", ", init_scale=128.0, growth_interval=2**31 - 1"),
        ('loss_scale="512"', ", init_scale=512.0, growth_interval=2**31 - 1"),
        ('opt_level="O2", keep_batchnorm_fp32=True, master_weights=True', ""),
        ("enabled=use_amp", ", enabled=bool(use_amp)"),
        ("enabled=not args.full", ", enabled=not args.full"),
        ("opt_level=args.level", ', enabled=args.level != "O0"'),
        ('opt_level=config["level"]', ', enabled=config["level"] != "O0"'),
    ],
)
def test_arguments_of_initialize(arguments: str, expected: str | None) -> None:
    if expected is None:
        # The third place is `enabled`, where a text is true.
        assert "enabled=bool" in scaler(arguments)
    else:
        assert scaler(arguments).strip() == f'scaler = torch.amp.GradScaler("cuda"{expected})'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('opt_level="O3"', "opt_level O3"),
        ('opt_level="O4"', "opt_level O4"),
        ('opt_level="O1" if half else "O0"', "the level is computed"),
        ('opt_level="O%d" % args.level', "the level is computed"),
        ('opt_level=f"O{args.level}"', "the level is computed"),
        ("loss_scale=options.pop()", "is constant or dynamic is known"),
        ("loss_scale=0", "constant or dynamic"),
        ('opt_level="O2", min_loss_scale=args.least', "no lower limit"),
        ('opt_level="O2", max_loss_scale=-1', "no upper limit"),
        ('opt_level="O1", keep_batchnorm_fp32=True', "keep_batchnorm_fp32"),
        ("cast_model_outputs=torch.float32", "cast_model_outputs"),
        ("patch_torch_functions=False", "patch_torch_functions"),
        ("cast_model_type=torch.float16", "cast_model_type"),
        ("**options", "not all arguments"),
    ],
)
def test_arguments_that_have_no_successor(arguments: str, message: str) -> None:
    assert message in refused("CM102", level(arguments))


def test_a_level_that_may_be_o3_raises_when_it_is() -> None:
    text = changed("CM102", level("opt_level=args.level"))
    assert 'if args.level == "O3":\n    raise ValueError' in text


def test_a_level_by_choices_without_o3_needs_no_check() -> None:
    flag = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--level", default="O1", choices=["O0", "O1"])\n'
        "args = parser.parse_args()\n"
    )
    text = changed("CM102", flag + level("opt_level=args.level"))
    assert "raise" not in text
    assert 'enabled=args.level != "O0"' in text


def test_level_o0_takes_apex_out_and_adds_nothing() -> None:
    text = changed("CM102", level('opt_level="O0"'))
    assert "amp" not in text
    assert "    loss.backward()\n    optimizer.step()\n" in text


def test_results_under_other_names_stay_assigned() -> None:
    start = 'net, optimizer = amp.initialize(model, optimizer, opt_level="O1")\n'
    text = changed("CM102", code(start, LOOP.replace("model(", "net(")))
    assert "net = model\nscaler = " in text
    assert "optimizer = optimizer" not in text


@pytest.mark.parametrize(
    "start",
    [
        'model = amp.initialize(model, opt_level="O1")\n',
        'both = amp.initialize(model, optimizer, opt_level="O1")\n',
        'model, optimizer, more = amp.initialize(model, optimizer, opt_level="O1")\n',
        START + START,
    ],
)
def test_starts_that_are_not_certain(start: str) -> None:
    assert refused("CM102", code(start))


def test_starting_in_place() -> None:
    text = changed("CM102", code('amp.initialize(model, optimizer, opt_level="O1")\n'))
    assert 'scaler = torch.amp.GradScaler("cuda")\n' in text


# what runs under autocast


def test_the_forward_pass_and_the_loss_run_under_autocast_and_nothing_else() -> None:
    loop = """\
for batch in loader:
    batch = tuple(one.cuda() for one in batch)
    outputs = model(batch[0])  # logits
    # two losses
    loss = criterion(outputs, batch[1])
    if args.extra:
        loss = loss + outputs.pow(2).mean()
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
    total += loss.item()
"""
    text = changed("CM102", code(loop=loop))
    assert (
        """\
    batch = tuple(one.cuda() for one in batch)
    with torch.amp.autocast("cuda", dtype=torch.float16):
        outputs = model(batch[0])  # logits
        # two losses
        loss = criterion(outputs, batch[1])
        if args.extra:
            loss = loss + outputs.pow(2).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    total += loss.item()
"""
        in text
    )


def test_a_forward_pass_outside_of_the_branch_gets_an_autocast_of_its_own() -> None:
    loop = """\
for inputs, targets in loader:
    outputs = model(inputs)
    if args.smooth:
        loss = criterion(outputs, targets) / 2
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
"""
    text = changed("CM102", code(loop=loop))
    assert text.count("with torch.amp.autocast") == 2
    assert "        outputs = model(inputs)\n    if args.smooth:\n        with torch" in text


def test_two_networks_share_a_scaler_that_is_updated_once() -> None:
    loop = """\
for inputs, targets in loader:
    fake = netG(inputs)
    errD = criterion(netD(fake.detach()), targets)
    with amp.scale_loss(errD, optD, loss_id=0) as scaled:
        scaled.backward()
    optD.step()
    errG = criterion(netD(fake), targets)
    with amp.scale_loss(errG, optG, loss_id=1) as scaled:
        scaled.backward()
    optG.step()
"""
    start = (
        "[netD, netG], [optD, optG] = amp.initialize("
        '[netD, netG], [optD, optG], opt_level="O1", num_losses=2)\n'
    )
    text = changed("CM102", code(start, loop))
    assert text.count("scaler.update()") == 1
    assert text.endswith("scaler.step(optG)\n    scaler.update()\n")
    assert "netG]" not in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("    text = '''a\nb'''; loss = criterion(model(text), targets)\n", ""),
        ("    loss = criterion(model(inputs), targets); count = 1\n", "share a line"),
        (
            '    loss = criterion(model(\n"""a\n  b"""), targets)\n',
            "a multi-line string",
        ),
        ("    loss = yield model(inputs)\n", "forward pass"),
    ],
)
def test_what_cannot_be_indented(line: str, message: str) -> None:
    first = "    loss = criterion(model(inputs), targets)\n"
    body = "".join(f"    {text}\n" for text in LOOP.replace(first, "@\n").splitlines())
    body = body.replace("    @\n", "".join(f"    {text}\n" for text in line.splitlines()))
    text = f"{HEAD}{START}def train(loader):\n{body}"
    if "'''" in line or '"""' in line:
        text = f"{HEAD}{START}" + LOOP.replace(first, line)
    assert message in refused("CM102", text)


@pytest.mark.parametrize("name", ["torch.nn.BCELoss()", "torch.nn.functional.binary_cross_entropy"])
def test_a_loss_that_raises_under_autocast(name: str) -> None:
    text = code().replace("torch.nn.CrossEntropyLoss()", name)
    if "functional" in name:
        text = text.replace("criterion(", f"{name}(")
    assert "raises under autocast" in refused("CM102", text)


# the scaled backward pass


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("amp.scale_loss", "amp.scaled_loss", "apex.amp has no scaled_loss"),
        ("as scaled_loss:", "as scaled_loss, other():", "not used in the usual form"),
        ("(loss, optimizer)", "(loss, optimizer, model=model)", "model"),
        ("(loss, optimizer)", "(loss, optimizer, delay_overflow_check=True)", "delay_overflow"),
        ("(loss, optimizer)", "(loss, pick(optimizer))", "the optimizers in"),
        ("(loss, optimizer)", "(criterion(model(inputs), targets), optimizer)", "in the call"),
        ("scaled_loss.backward()", "scaled_loss.backward(gradient=g)", "called with gradient=g"),
        ("scaled_loss.backward()", "optimizer.backward(scaled_loss)", "does not begin with"),
        (
            "scaled_loss.backward()",
            "scaled_loss.backward(); clip(amp.master_params(optimizer))",
            "in the block of amp.scale_loss",
        ),
        ("optimizer.step()", "optimizer.step(closure)", "closure"),
        ("    optimizer.step()", "    result = optimizer.step()", "closure"),
        ("    optimizer.step()\n", "", "not in the function"),
        ("optimizer.zero_grad()", "log(scaled_loss.item())", "is used after its block"),
    ],
)
def test_backward_passes_and_steps_of_other_forms(old: str, new: str, message: str) -> None:
    assert message in refused("CM102", code(loop=LOOP.replace(old, new)))


def test_arguments_of_backward_are_kept() -> None:
    loop = LOOP.replace("scaled_loss.backward()", "scaled_loss.backward(retain_graph=True)")
    loop = loop.replace("(loss, optimizer)", "(loss / 4, optimizer, delay_unscale=wait)")
    text = changed("CM102", code(loop=loop))
    assert "scaler.scale(loss / 4).backward(retain_graph=True)" in text


def test_a_step_that_follows_no_scaled_loss() -> None:
    assert "no scaled loss before this step" in refused("CM102", code(START + "optimizer.step()\n"))


def test_a_loss_of_two_optimizers() -> None:
    loop = LOOP.replace("(loss, optimizer)", "(loss, [optimizer, other])")
    loop = loop.replace("    optimizer.step()\n", "    optimizer.step()\n    other.step()\n")
    text = changed("CM102", code(loop=loop))
    assert "scaler.step(optimizer)\n    scaler.step(other)\n    scaler.update()\n" in text


def test_optimizers_that_take_turns_update_the_scale_each() -> None:
    loop = (
        LOOP
        + """\
    if turn:
        extra = criterion(netG(inputs), targets)
        with amp.scale_loss(extra, other) as scaled_loss:
            scaled_loss.backward()
        other.step()
"""
    )
    text = changed("CM102", code(loop=loop))
    assert text.count("scaler.update()") == 2
    assert text.endswith("        scaler.step(other)\n        scaler.update()\n")


def test_optimizers_that_step_in_different_places() -> None:
    loop = LOOP.replace("(loss, optimizer)", "(loss, [optimizer, other])")
    loop += "    if turn:\n        other.step()\n"
    assert "several optimizers share" in refused("CM102", code(loop=loop))


# clipping

CLIP = "torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)"


def test_gradients_get_their_size_before_they_are_clipped() -> None:
    loop = LOOP.replace("    optimizer.step()", f"    {CLIP}\n    optimizer.step()")
    text = changed("CM102", code(loop=loop))
    assert (
        """\
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in \
group["params"]], 1.0)
    scaler.step(optimizer)
"""
        in text
    )


@pytest.mark.parametrize(
    "line",
    [
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "norm = total_grad_norm(model)",
        "for p in model.parameters(): p.grad.mul_(0.5)",
        "log(model.weight.grad.norm())",
    ],
)
def test_whatever_reads_gradients_before_the_step_sees_their_right_size(line: str) -> None:
    loop = LOOP.replace("    optimizer.step()", f"    {line}\n    optimizer.step()")
    text = changed("CM102", code(loop=loop))
    assert f"    scaler.unscale_(optimizer)\n    {line}\n    scaler.step(optimizer)\n" in text


def test_gradients_that_are_only_cleared_per_micro_batch_are_not_read() -> None:
    line = "for p in frozen:\n        p.grad = None"
    assert "unscale_" not in changed("CM102", code(loop=WINDOW.format(early=line, late="pass")))


def test_two_clips_take_the_scale_out_once() -> None:
    loop = LOOP.replace("    optimizer.step()", f"    {CLIP}\n    {CLIP}\n    optimizer.step()")
    assert changed("CM102", code(loop=loop)).count("unscale_") == 1


def test_clips_of_two_branches_take_the_scale_out_in_each() -> None:
    lines = f"    if args.clip:\n        {CLIP}\n    else:\n        log(model.weight.grad)\n"
    loop = LOOP.replace("    optimizer.step()", f"{lines}    optimizer.step()")
    assert changed("CM102", code(loop=loop)).count("        scaler.unscale_(optimizer)\n") == 2


def test_a_window_is_clipped_at_its_end() -> None:
    text = changed("CM102", code(loop=WINDOW.format(early="pass", late=CLIP)))
    assert "        scaler.unscale_(optimizer)\n        torch.nn.utils" in text
    assert "        scaler.step(optimizer)\n        scaler.update()\n" in text


@pytest.mark.parametrize(
    ("early", "expected"),
    [
        (CLIP, 'group["params"]], 1.0 * scaler.get_scale())'),
        (
            "torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=args.a + 1)",
            "(model.parameters(), max_norm=(args.a + 1) * scaler.get_scale())",
        ),
    ],
)
def test_a_norm_that_is_clipped_after_every_micro_batch_has_a_scaled_bound(
    early: str, expected: str
) -> None:
    text = changed("CM102", code(loop=WINDOW.format(early=early, late="pass")))
    assert expected in text
    assert "unscale_" not in text
    both = changed("CM102", code(loop=WINDOW.format(early=early, late=CLIP)))
    assert both.count("get_scale()") == both.count("unscale_") == 1


@pytest.mark.parametrize(
    "early",
    [
        "log(p.grad)",
        f"norm = {CLIP}",
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)",
        "torch.nn.utils.clip_grad_norm_(*given)",
        "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)",
        "own_clip_grad_norm(model.parameters(), 1.0)",
    ],
)
def test_a_window_whose_gradients_are_read_after_every_micro_batch_stays(early: str) -> None:
    text = code(loop=WINDOW.format(early=early, late="pass"))
    assert "after every backward pass" in refused("CM102", text)


@pytest.mark.parametrize("place", ["before", "elsewhere"])
def test_masters_that_are_used_elsewhere(place: str) -> None:
    use = "def norm():\n    return total(amp.master_params(optimizer))\n"
    text = code(START + use) if place == "elsewhere" else code(START + f"{CLIP}\n")
    assert "amp.master_params is not used between" in refused("CM102", text)
