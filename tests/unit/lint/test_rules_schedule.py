"""Rules about schedules, weight decay and precision: what they find, and what they leave alone."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples
from crosscast_reading.lint.rules.optimizer._decay import EXAMPLE as DECAY

from .lint_results import codes, swap

SCHEDULE, AMP, PLAIN = examples.SCHEDULE, examples.AMP, examples.PLAIN


# ---- CL401 to CL404


def test_backward_within_autocast() -> None:
    inside = swap(AMP, ("    scaler.scale(loss)", "        scaler.scale(loss)"))
    assert codes(inside) == {"CL401"}
    off = swap(inside, ("dtype=torch.float16", "dtype=torch.float16, enabled=False"))
    assert codes(off) == set()
    functional = swap(
        AMP,
        ("targets)\n    scaler", "targets)\n        torch.autograd.grad(loss, weight)\n    scaler"),
    )
    assert codes(functional) == set()


CPU = """\
import torch

device = torch.device("cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("device(", "device("), {"CL402"}),
        (('autocast("cuda"', 'autocast("cpu"'), set()),
        (('"cpu"', '"cuda" if torch.cuda.is_available() else "cpu"'), set()),
        (('"cpu"', "args.device"), set()),
        (
            ("dtype=torch.bfloat16", "dtype=torch.bfloat16, enabled=torch.cuda.is_available()"),
            set(),
        ),
        (("to(device)", "cuda()"), set()),
    ],
)
def test_devices(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(CPU, change)) == expected


FUNCTION = swap(
    AMP,
    (
        "import torch\n",
        "import torch\n\n\nclass Twice(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        return x @ x\n\n    @staticmethod\n"
        "    def backward(ctx, grad):\n        return grad\n\n\n",
    ),
    ("criterion(model(inputs)", "criterion(Twice.apply(model(inputs))"),
)


def test_functions_of_ones_own() -> None:
    assert codes(FUNCTION) == {"CL403"}
    assert codes(swap(FUNCTION, ("return x @ x", "return 2 * x"))) == set()
    with_cast = swap(
        FUNCTION, ("    def forward", "    @torch.cuda.amp.custom_fwd\n    def forward")
    )
    assert codes(with_cast) == set()
    assert codes(swap(FUNCTION, ("torch.autograd.Function", "Base"))) == set()
    bare = swap(FUNCTION, ("dtype=torch.float16", "enabled=False"))
    assert "CL403" not in codes(bare)


@pytest.mark.parametrize(
    ("logits", "expected"),
    [
        ("model(inputs).half()", {"CL404"}),
        ("model(inputs).to(torch.float16)", {"CL404"}),
        ("model(inputs).float()", set()),
        ("model(inputs.half())", set()),
    ],
)
def test_losses_in_half(logits: str, expected: set[str]) -> None:
    assert codes(swap(PLAIN, ("criterion(model(inputs)", f"criterion({logits}"))) == expected


# ---- CL501, CL502


ORDER = "        optimizer.step()\n        schedule.step()\n"
EARLY = swap(SCHEDULE, (ORDER, "        schedule.step()\n        optimizer.step()\n"))


def test_schedules_that_are_too_early() -> None:
    assert codes(EARLY) == {"CL501"}
    assert codes(swap(EARLY, ("schedule.step()", "schedule.step(step)"))) == set()
    assert codes(swap(EARLY, ("torch.optim.lr_scheduler.LinearLR", "make"))) == {"CL501"}
    own = swap(
        EARLY,
        (
            "import torch\n",
            "import torch\n\n\nclass Linear:\n    def step(self):\n        pass\n\n\n",
        ),
        ("torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)", "Linear()"),
    )
    assert codes(own) == set()


def test_schedules_of_epochs() -> None:
    epochs = "import torch\n\nmodel = torch.nn.Linear(4, 2)\n" + (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n"
        "for epoch in range(3):\n"
        "    for x, y in loader:\n        optimizer.zero_grad()\n"
        "        torch.nn.functional.mse_loss(model(x), y).backward()\n        optimizer.step()\n"
        "    schedule.step()\n"
    )
    assert codes(epochs) == set()
    first = swap(
        epochs,
        ("    schedule.step()\n", ""),
        ("    for x", "    schedule.step()\n    for x"),
    )
    assert codes(first) == {"CL501"}
    later = swap(first, ("    schedule.step()", "    if epoch:\n        schedule.step()"))
    assert codes(later) == set()


def test_schedules_of_micro_batches() -> None:
    each = swap(SCHEDULE, (ORDER, "        optimizer.step()\n"))
    each += "    schedule.step()\n"
    assert codes(each) == {"CL502"}
    assert codes(swap(each, ("    schedule.step()", "    schedule.step(seen / total)"))) == set()


# ---- CL503, CL504, CL505


def with_length(length: str) -> str:
    return swap(
        SCHEDULE,
        ("schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)\n", ""),
        (
            "steps = 4\n",
            "steps = 4\ntotal = 10 * len(loader)\nupdates = 10 * len(loader) // steps\n"
            f"schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={length})\n",
        ),
    )


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ("len(loader)", {"CL503"}),
        ("total", {"CL503"}),
        ("len(loader) * epochs", {"CL503"}),
        ("updates", set()),
        ("len(loader) // steps", set()),
        ("int(len(loader) / 4)", set()),
        ("1000", set()),
        ("args.max_steps", set()),
    ],
)
def test_lengths(length: str, expected: set[str]) -> None:
    assert codes(with_length(length)) == expected


def test_lengths_without_windows() -> None:
    text = swap(
        PLAIN,
        (
            "for inputs",
            "from torch.optim.lr_scheduler import CosineAnnealingLR\n\n"
            "schedule = CosineAnnealingLR(optimizer, T_max=len(loader))\nfor inputs",
        ),
        ("    optimizer.step()\n", "    optimizer.step()\n    schedule.step()\n"),
    )
    assert codes(text) == set()


def test_skipped_steps() -> None:
    text = swap(
        AMP,
        (
            "scaler = torch",
            "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)\nscaler = torch",
        ),
        ("    scaler.update()\n", "    scaler.update()\n    schedule.step()\n"),
    )
    assert codes(text) == {"CL504"}
    looks = swap(
        text,
        ("    schedule.step()", "    if scaler.get_scale() >= before:\n        schedule.step()"),
    )
    assert codes(looks) == set()


PREPARED = swap(
    examples.ACCELERATE,
    ("import torch\n", "import torch\nfrom diffusers.optimization import get_scheduler\n"),
    (
        "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n",
        'schedule = get_scheduler("cosine", optimizer, num_training_steps=LENGTH)\n'
        "optimizer, schedule = accelerator.prepare(optimizer, schedule)\n"
        "model, loader = accelerator.prepare(model, loader)\n",
    ),
    ("        optimizer.step()\n", "        optimizer.step()\n        schedule.step()\n"),
)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ("len(loader) * 3", {"CL503"}),
        ("len(loader) * 3 // 4", set()),
        ("args.max_train_steps", {"CL505"}),
        ("args.max_train_steps * accelerator.num_processes", set()),
        ("args.max_train_steps * args.gradient_accumulation_steps", {"CL503"}),
        ("int(args.gradient_accumulation_steps * updates)", {"CL503"}),
        ("args.max_train_steps * args.epochs", {"CL505"}),
        ("1 + 3 * math.ceil(len(rows) / (8 * accelerator.num_processes * 4))", {"CL505"}),
        ("len(rows) // accelerator.num_processes * accelerator.num_processes", set()),
        ("len(rows) // (8 / accelerator.num_processes)", set()),
        ("None", set()),
        ("[args.max_train_steps]", set()),
    ],
)
def test_lengths_with_accelerate(length: str, expected: set[str]) -> None:
    assert codes(PREPARED.replace("LENGTH", length)) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("args.total = args.epochs * math.ceil(len(loader) / args.accumulation)", set()),
        ("per_epoch = len(loader) // 4\nargs.total = args.epochs * per_epoch", set()),
        ("args.total = args.epochs * 100", {"CL505"}),
        ("args.other = len(loader)", {"CL505"}),
        ("total = 7 * args.accumulation\nargs.total = 1", {"CL505"}),
    ],
)
def test_lengths_that_are_kept_in_settings(before: str, expected: set[str]) -> None:
    text = swap(PREPARED, ("schedule = get", f"{before}\nschedule = get"), ("LENGTH", "args.total"))
    assert codes(text) == expected


def test_a_length_that_a_function_gets() -> None:
    made = 'schedule = get_scheduler("cosine", optimizer, num_training_steps=LENGTH)\n'
    own = f"def build(optimizer, total):\n    {made.replace('schedule =', 'return')}\n"
    for factor, expected in (("2", {"CL505"}), ("accelerator.num_processes", set())):
        called = f"{own}schedule = build(optimizer, updates * {factor})\n"
        assert codes(swap(PREPARED, (made, called), ("LENGTH", "total"))) == expected


def test_settings_that_are_computed_too_late() -> None:
    later = swap(
        PREPARED, ("LENGTH", "args.total"), ("for ", "args.total = len(loader) // 4\nfor ")
    )
    assert codes(later) == {"CL505"}


def test_a_length_with_its_factor_in_a_variable() -> None:
    for factor, expected in (("args.accumulation_steps", {"CL503"}), ("args.epochs", {"CL505"})):
        text = swap(
            PREPARED,
            ("schedule = get", f"total = updates * {factor}\nschedule = get"),
            ("LENGTH", "total"),
        )
        assert codes(text) == expected


UNITS = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={length})
for epoch in range({epochs}):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        {inside}
    {around}
"""


@pytest.mark.parametrize(
    ("length", "epochs", "inside", "around", "expected"),
    [
        ("args.epochs", "args.epochs", "schedule.step()", "pass", {"CL503"}),
        ("EPOCHS", "1, EPOCHS", "schedule.step()", "pass", {"CL503"}),
        ("args.epochs", "args.epochs", "pass", "schedule.step()", set()),
        ("args.epochs", "args.epochs", "schedule.step(epoch)", "pass", set()),
        ("args.epochs", "args.epochs", "other.step()", "pass", set()),
        ("args.epochs", "args.epochs", "if last: schedule.step()", "pass", set()),
        ("args.epochs * len(loader)", "args.epochs", "schedule.step()", "pass", set()),
        ("args.epochs * len(loader)", "args.epochs", "pass", "schedule.step()", {"CL503"}),
        ("len(loader) // 4", "args.epochs", "pass", "schedule.step()", set()),
        ("args.max_epochs", "args.epochs", "schedule.step()", "pass", set()),
        ("args.steps", "args.steps", "schedule.step()", "pass", set()),
    ],
)
def test_units_of_lengths(
    length: str, epochs: str, inside: str, around: str, expected: set[str]
) -> None:
    text = UNITS.format(length=length, epochs=epochs, inside=inside, around=around)
    assert codes(text) & {"CL503"} == expected


# ---- CL506, CL507


def test_decay() -> None:
    assert codes(DECAY) == set()
    inverted = swap(DECAY, ("0.01}", "ZERO}"), ("0.0}", "0.01}"), ("ZERO", "0.0"))
    assert codes(inverted) == {"CL506"}
    named = swap(inverted, ("no_decay", "decayed"))
    assert codes(named) == set()
    flag = swap(DECAY, ("0.01", "args.weight_decay"))
    assert codes(flag) == set()
    assert codes(swap(DECAY, ("AdamW", "Adam"))) == {"CL507"}
    assert codes(swap(DECAY, ("AdamW", "SGD"))) == set()
    assert codes(swap(DECAY, ("AdamW", "Adam"), ("0.01", "0.0"))) == set()


PADDLE = """\
import paddle

model = paddle.nn.Linear(4, 2)
decayed = [p.name for n, p in model.named_parameters() if not any(w in n for w in ["bias", "norm"])]
optimizer = paddle.optimizer.AdamW(
    parameters=model.parameters(), weight_decay=0.01, apply_decay_param_fun=lambda x: x in decayed
)
for x, y in loader:
    paddle.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_filters_of_decay() -> None:
    assert codes(PADDLE) == set()
    assert codes(swap(PADDLE, ("if not any", "if any"))) == {"CL506"}
    assert codes(swap(PADDLE, ("x in decayed", "x not in decayed"))) == {"CL506"}
    both = swap(PADDLE, ("if not any", "if any"), ("x in decayed", "x not in decayed"))
    assert codes(both) == set()
    unclear = swap(PADDLE, ('["bias", "norm"]', "words"), ("if not any", "if any"))
    assert codes(unclear) == set()
    listed = "[p.name for n, p in model.named_parameters() if any(w in n for w in no_decay)]"
    inline = swap(
        PADDLE, ("decayed = [", "no_decay = ['bias']\nother = ["), ("in decayed", f"in {listed}")
    )
    assert codes(inline) == {"CL506"}
    assert (
        codes(swap(inline, ("if any(w in n for w in no_", "if not any(w in n for w in no_")))
        == set()
    )
    head = swap(inline, ("if any(", "if any(w in n for w in ['head']) and any("))
    assert codes(head) == {"CL506"}
    assert codes(swap(head, ("and any(", "and not any("))) == set()
    assert codes(swap(head, ("and any(", "or any("))) == set()
    function = swap(
        PADDLE,
        (
            "decayed = ",
            "def choose(name):\n    if 'norm' in name:\n        return False\n"
            "    return True\n\n\nother = ",
        ),
        ("lambda x: x in decayed", "choose"),
    )
    assert codes(function) == set()
    assert codes(
        swap(
            function,
            ("return False", "return ONE"),
            ("return True", "return False"),
            ("ONE", "True"),
        )
    ) == {"CL506"}
