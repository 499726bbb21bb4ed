"""Rules about loss scaling: what they find, and what they leave alone."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import code_lines, codes, swap

AMP, AMP_ACCUMULATION, PLAIN = examples.AMP, examples.AMP_ACCUMULATION, examples.PLAIN
SIMPLE = swap(
    AMP,
    ("    scaler.unscale_(optimizer)\n", ""),
    ("    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", ""),
)
BRANCHES = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda") if use_amp else None
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    if use_amp:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    if not use_amp:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
"""


def test_clean_programs() -> None:
    assert [codes(text) for text in (AMP, AMP_ACCUMULATION, SIMPLE, BRANCHES)] == [set()] * 4


# ---- CL201, CL202, CL203


def test_updates_of_a_window() -> None:
    early = swap(
        AMP_ACCUMULATION,
        ("        scaler.update()\n", ""),
        ("    if (step", "    scaler.update()\n    if (step"),
    )
    assert codes(early) == {"CL201"}
    late = swap(AMP_ACCUMULATION, ("        scaler.update()\n", ""))
    assert codes(late) == {"CL202"}
    guarded = swap(early, ("    scaler.update()\n", "    if ready:\n        scaler.update()\n"))
    assert codes(guarded) == set()
    assert (
        codes(
            swap(
                PLAIN, ("    loss.backward()", "    loss.backward()\n    meter.update(loss.item())")
            )
        )
        == set()
    )


def test_updates_elsewhere_are_enough() -> None:
    text = swap(SIMPLE, ("    scaler.update()\n", ""))
    assert codes(text) == {"CL202"}
    assert codes(text + "\n\ndef after(scaler):\n    scaler.update()\n") == set()
    assert codes(swap(text, ('torch.amp.GradScaler("cuda")', "make_scaler()"))) == set()


FIXED = """\
import paddle

model = paddle.nn.Linear(8, 2)
optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024{given})
for inputs, targets in loader:
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.mse_loss(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", {"CL202"}),
        (", use_dynamic_loss_scaling=True", {"CL202"}),
        (", use_dynamic_loss_scaling=dynamic", {"CL202"}),
        (", use_dynamic_loss_scaling=False", set()),
    ],
)
def test_a_scale_of_paddle_that_never_changes_needs_no_update(
    given: str, expected: set[str]
) -> None:
    assert codes(FIXED.format(given=given)) == expected


TWO = """\
import torch

encoder, decoder = torch.nn.Linear(4, 8).cuda(), torch.nn.Linear(8, 2).cuda()
first = torch.optim.SGD(encoder.parameters(), lr=0.1)
second = torch.optim.SGD(decoder.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    first.zero_grad()
    second.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        hidden = encoder(inputs)
        loss = torch.nn.functional.cross_entropy(decoder(hidden), targets)
    scaler.scale(loss).backward()
    scaler.step(first)
    scaler.update()
    scaler.step(second)
    scaler.update()
"""


def test_updates_of_two_optimizers() -> None:
    assert code_lines(TWO) == ["CL203:17"]
    assert (
        codes(
            swap(TWO, ("    scaler.step(first)\n    scaler.update()\n", "    scaler.step(first)\n"))
        )
        == set()
    )
    own = swap(
        TWO,
        ("    scaler.step(second)", "    other.step(second)"),
        ("    scaler.update()\n    other", "    scaler.update()\n    other"),
    )
    assert codes(own) == set()
    again = swap(
        TWO,
        (
            "    scaler.step(second)",
            "    scaler.scale(penalty(hidden)).backward()\n    scaler.step(second)",
        ),
    )
    from crosscast.messages.source import Source
    from crosscast_reading.lint.engine import lint_sources

    found = [
        finding for finding in lint_sources([Source("a.py", again)]) if finding.code == "CL203"
    ]
    assert [str(diagnostic.severity) for diagnostic in found] == ["note"]


def test_an_optimizer_that_nothing_steps() -> None:
    text = swap(TWO, ("    scaler.step(second)\n    scaler.update()\n", ""))
    assert code_lines(text) == ["CL215:9"]
    assert codes(text + "\n\ndef later():\n    second.step()\n") == set()
    assert codes(text + "\nfinish(second)\n") == set()
    assert codes(swap(text, ("second = torch.optim.SGD(decoder", "second = make(decoder"))) == set()


# ---- CL204, CL211


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("scaler.step(optimizer)\n    scaler.update()", "optimizer.step()"), {"CL204"}),
        (("scaler.scale(loss).backward()", "loss.backward()"), {"CL211"}),
        (
            ("    scaler.step(optimizer)", "    scaler.unscale_(optimizer)\n    optimizer.step()"),
            set(),
        ),
    ],
)
def test_half_of_the_scaler(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(SIMPLE, change)) == expected


def test_branches_that_do_not_fit() -> None:
    crossed = swap(BRANCHES, ("    if not use_amp:", "    if use_amp:"))
    assert codes(crossed) == {"CL204", "CL211"}
    other = swap(BRANCHES, ("    if not use_amp:", "    if scaler is None:"))
    assert codes(other) == set()  # it cannot be seen that both mean the same


def test_scalers_of_others_are_not_judged() -> None:
    text = swap(SIMPLE, ('torch.amp.GradScaler("cuda")', "LossScaler()"))
    text = swap(text, ("scaler.step(optimizer)\n    scaler.update()", "optimizer.step()"))
    own = "class LossScaler:\n    def scale(self, loss):\n        return loss\n\n\n"
    assert codes(swap(text, ("import torch\n", f"import torch\n\n\n{own}"))) == set()


# ---- CL205


def test_unscaled_twice() -> None:
    assert codes(
        swap(AMP, ("    scaler.step(", "    scaler.unscale_(optimizer)\n    scaler.step("))
    ) == {"CL205"}
    each = swap(
        AMP_ACCUMULATION,
        ("        scaler.unscale_(optimizer)\n", ""),
        ("    if (step", "    scaler.unscale_(optimizer)\n    if (step"),
    )
    assert codes(each) == {"CL205"}
    two = swap(
        AMP,
        (
            "    scaler.unscale_(optimizer)",
            "    scaler.unscale_(optimizer)\n    scaler.unscale_(second)",
        ),
    )
    assert codes(two) == set()
    either = swap(
        AMP,
        (
            "    scaler.unscale_(optimizer)",
            "    if a:\n        scaler.unscale_(optimizer)\n"
            "    else:\n        scaler.unscale_(optimizer)",
        ),
    )
    assert codes(either) == set()


# ---- CL206, CL207


BARE = swap(
    PLAIN,
    (
        "    loss = criterion(model(inputs), targets)\n",
        '    with torch.autocast("cuda", dtype=torch.float16):\n'
        "        loss = criterion(model(inputs), targets)\n",
    ),
)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ('torch.autocast("cuda", dtype=torch.float16)', {"CL206"}),
        ('torch.autocast("cuda")', {"CL206"}),
        ('torch.autocast("cuda", **settings)', set()),
        ('torch.autocast("cuda", **{"dtype": torch.float16})', {"CL206"}),
        ("torch.cuda.amp.autocast()", {"CL206"}),
        ("torch.cuda.amp.autocast(enabled=use_amp)", {"CL206"}),
        ('torch.autocast("cuda", dtype=torch.bfloat16)', set()),
        ('torch.autocast("cpu")', set()),
        ('torch.autocast("cuda", enabled=False)', set()),
        ("torch.autocast(kind)", set()),
        ('torch.autocast("cuda", dtype=dtype)', set()),
        ("torch.no_grad()", set()),
    ],
)
def test_float16_without_scaler(context: str, expected: set[str]) -> None:
    assert codes(swap(BARE, ('torch.autocast("cuda", dtype=torch.float16)', context))) == expected


def test_a_scaler_anywhere_is_enough() -> None:
    assert codes(BARE + "\nscaler = NativeScaler()\n") == set()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("torch.float16", "torch.bfloat16"), {"CL207"}),
        (("torch.float16", "torch.bfloat16 if new else torch.float16"), set()),
        (("torch.float16", "dtype"), set()),
    ],
)
def test_bfloat16_with_scaler(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(AMP, change)) == expected


@pytest.mark.parametrize("argument", [", enabled=False", ", enabled=use_scaler"])
def test_a_scaler_that_may_be_off(argument: str) -> None:
    text = swap(
        AMP,
        ("torch.float16", "torch.bfloat16"),
        ('GradScaler("cuda"', f'GradScaler("cuda"{argument}'),
    )
    assert codes(text) == set()


WEIGHTS = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
{cast}
optimizer = torch.optim.SGD({trained}.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    {backward}
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("cast", "trained", "backward", "found"),
    [
        ("model = model.half()", "model", "loss.backward()", True),
        ("model.to(torch.float16)", "model", "loss.backward()", True),
        ("if args.fp16:\n    model.half()", "model", "loss.backward()", True),
        ("if args.fp16:\n    pass\nelse:\n    model.half()", "model", "loss.backward()", False),
        ("if args.export:\n    model.half()", "model", "loss.backward()", False),
        ("model.half()\nmodel.float()", "model", "loss.backward()", False),
        ("model.half()", "adapter", "loss.backward()", False),
        ("model.half()", "model", "(loss * args.loss_scale).backward()", False),
        ("model.half()\nmodel = get_lora(model)", "model", "loss.backward()", False),
        ("model = model.bfloat16()", "model", "loss.backward()", False),
        ("def export(model):\n    model.half()", "model", "loss.backward()", False),
    ],
)
def test_half_weights_without_a_scale(cast: str, trained: str, backward: str, found: bool) -> None:
    text = WEIGHTS.format(cast=cast, trained=trained, backward=backward)
    assert ("CL206" in codes(text)) is found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("", True),
        ("torch.save(scaler.state_dict(), path)\n", True),
        ("scaler.load_state_dict(torch.load(path))\n", True),
        ("train(model, scaler)\n", False),
        ("helper.scaler = scaler\n", False),
        ("scaler.scale(other).backward()\n", False),
    ],
)
def test_a_scaler_that_nothing_uses(use: str, found: bool) -> None:
    text = swap(
        AMP,
        ("    scaler.scale(loss).backward()\n", "    loss.backward()\n"),
        ("    scaler.unscale_(optimizer)\n", ""),
        ("    scaler.step(optimizer)\n    scaler.update()\n", "    optimizer.step()\n"),
    )
    assert ("CL206" in codes(text + use)) is found


@pytest.mark.parametrize(
    ("given", "more", "found"),
    [
        ('opt_level="O1"', "", True),
        ('opt_level="O2"', "", True),
        ('opt_level="O0"', "", False),
        ("opt_level=args.level", "", False),
        ('opt_level="O1", enabled=False', "", False),
        ('opt_level="O1"', "with amp.scale_loss(other, optimizer) as scaled:\n    pass\n", False),
    ],
)
def test_apex_that_scales_no_loss(given: str, more: str, found: bool) -> None:
    text = swap(
        PLAIN,
        ("import torch\n", "import torch\nfrom apex import amp\n"),
        ("for inputs", f"model, optimizer = amp.initialize(model, optimizer, {given})\nfor inputs"),
    )
    assert ("CL206" in codes(text + more)) is found
