"""Schedules read by computing the formula of a program's learning rate."""

from __future__ import annotations

import math

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.readers.python.curve_fit import Curve, fit
from crosscast_reading.readers.python.rate_curves import RateCurve, curve_of_function
from crosscast_torch.reading.schedules import READER
from torch_programs import STEP, facts_of

HEAD = (
    "import math\nimport numpy as np\nimport torch\nfrom torch.optim.lr_scheduler import LambdaLR\n"
)
ARRAY = (
    "def cosine_scheduler(base, final, epochs, per_epoch, warmup_epochs=0, start=0):\n"
    "    warm = np.array([])\n"
    "    count = warmup_epochs * per_epoch\n"
    "    if warmup_epochs > 0:\n"
    "        warm = np.linspace(start, base, count)\n"
    "    iters = np.arange(epochs * per_epoch - count)\n"
    "    rest = final + 0.5 * (base - final) * (1 + np.cos(np.pi * iters / len(iters)))\n"
    "    rates = np.concatenate((warm, rest))\n"
    "    assert len(rates) == epochs * per_epoch\n"
    "    return rates\n"
)


def curve_of(function: str, *, before: str = "") -> RateCurve | None:
    program, _ = read_program([Source("train.py", f"{HEAD}{before}f = {function}\n")])
    module = program.modules[0]
    node = module.tree.body[-1]
    return curve_of_function(node.value, module)  # type: ignore[attr-defined]


def said(text: str, *others: tuple[str, str]) -> dict[str, object]:
    """Return what is said of the schedule: values, `?` for what is known to be unknown."""
    found: dict[str, object] = {}
    for fact in facts_of(READER, HEAD + text, *others):
        value = fact.value if fact.known else "?"
        found.setdefault(fact.field.removeprefix("schedule."), value)
    return found


@pytest.mark.parametrize(
    ("function", "name", "warmup", "total", "end"),
    [
        ("lambda s: 1 - s / 1000", "linear", 0, 1000, 0),
        ("lambda s: max(0.1, 1 - s / 500)", "linear", 0, 450, 0.1),
        ("lambda s: 0.5 * (1 + math.cos(math.pi * s / 1000))", "cosine", 0, 1000, 0),
        ("lambda s: 0.1 + 0.45 * (1 + math.cos(math.pi * s / 300))", "cosine", 0, 300, 0.1),
        ("lambda s: s / 50 if s < 50 else max(0, (500 - s) / 450)", "linear", 50, 500, 0),
        ("lambda s: min(1, s / 50)", "constant", 50, None, 0),
        ("lambda s: s / 90 if s < 90 else (90 / s) ** 0.5", "inverse_sqrt", 90, None, 0),
        ("lambda s: np.interp([s], [0, 5, 24], [0, 1.0, 0])[0]", "linear", 5, 24, 0),
        ("lambda s: float(torch.clamp(torch.tensor(s / 40), max=1.0))", "constant", 40, None, 0),
    ],
)
def test_the_formula_of_a_recipe(
    function: str, name: str, warmup: int, total: int | None, end: float
) -> None:
    found = curve_of(function)
    assert found is not None
    assert (found.name, found.warmup, found.total, found.end) == (name, warmup, total, end)
    assert (found.hold, found.late, found.decay_from) == (False, False, "warmup_end")


def test_the_power_of_a_polynomial() -> None:
    found = curve_of("lambda s: (1 - s / 1000) ** 0.9")
    assert found is not None
    assert (found.name, found.power, found.total) == ("polynomial", 0.9, 1000)


def test_a_fall_that_counts_from_the_first_step() -> None:
    found = curve_of("lambda s: s / 50 if s < 50 else max(0.0, 1 - s / 500)")
    assert found is not None
    assert (found.name, found.warmup, found.decay_from) == ("linear", 50, "start")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("lambda s: 0.5 * (1 + math.cos(math.pi * ((s / 100) % 1)))", "custom"),
        ("lambda s: min(s / 50, 1) * max(0.0, 1 - s / 500)", "custom"),
        ("lambda s: 0.95 ** s", "exponential"),
        ("lambda s: 0.1 ** (s // 30)", "step"),
        ("lambda s: 0.1 ** (s // 1000)", "step"),
        ("lambda s: 0.1 ** ((s >= 30) + (s >= 80))", "step_custom"),
        ("lambda s: 1.0 if s < 30 else 0.1", "step_custom"),
    ],
)
def test_what_no_recipe_has(function: str, name: str) -> None:
    found = curve_of(function)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "function",
    [
        "lambda s: helper(s)",
        "lambda s: table[s]",
        "lambda s: 1 - s / horizon",
        "lambda s: model(s).item()",
        "lambda s: 1.0 if plateau else 0.1",
        "lambda s: open('rates.txt').read()",
        "[*functions]",
    ],
)
def test_what_cannot_be_computed(function: str) -> None:
    assert curve_of(function) is None


def test_a_hold_between_warm_up_and_fall() -> None:
    found = curve_of("lambda s: min(1, s / 50, (500 - s) / 100)")
    assert found is not None
    assert found.hold
    text = "f = lambda s: min(1, s / 50, max(0, 500 - s) / 100)\nsched = LambdaLR(optimizer, f)\n"
    assert said(text + STEP)["name"] == "custom"


def test_a_rate_that_falls_long_after_all_numbers_is_not_constant() -> None:
    assert curve_of("lambda s: max(0.0, min(1.0, 2.0 - s * 0.001))") is None


def test_lengths_that_are_not_known_are_not_said() -> None:
    found = curve_of("lambda s: min(1.0, s / warmup_steps)")
    assert found is not None
    assert (found.name, found.warms, found.warmup) == ("constant", True, None)
    found = curve_of("lambda s: max(0.0, 1 - s / total_steps)")
    assert found is not None
    assert (found.name, found.total, found.end) == ("linear", None, 0)


def test_a_closure_over_arguments() -> None:
    text = (
        "def schedule(optimizer, warmup, total, cycles=0.5):\n"
        "    def factor(step):\n"
        "        if step < warmup:\n"
        "            return float(step) / float(max(1, warmup))\n"
        "        progress = float(step - warmup) / float(max(1, total - warmup))\n"
        "        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * cycles * 2.0 * progress)))\n"
        "    return LambdaLR(optimizer, factor, -1)\n"
        "scheduler = schedule(optimizer, 40, 400)\n"
    )
    found = said(text + STEP)
    assert (found["name"], found["warmup"], found["total_steps"]) == ("cosine", 40, 400)
    assert found["end_factor"] == 0
    assert "peak" not in found


def test_an_array_handed_to_another_module() -> None:
    engine = (
        "def train_one_epoch(model, loader, optimizer, rates, epoch):\n"
        "    for it, (inputs, labels) in enumerate(loader):\n"
        "        it = len(loader) * epoch + it\n"
        "        for i, group in enumerate(optimizer.param_groups):\n"
        "            group['lr'] = rates[it]\n"
        "        loss = model(inputs, labels)\n        loss.backward()\n        optimizer.step()\n"
    )
    text = ARRAY + (
        "from engine import train_one_epoch\n"
        "rates = cosine_scheduler(0.004, 1e-4, 30, len(train_loader), warmup_epochs=5)\n"
        "for epoch in range(30):\n"
        "    train_one_epoch(model, train_loader, optimizer, rates, epoch)\n"
    )
    found = said(text, ("engine.py", engine))
    assert found["name"] == "cosine"
    assert found["warmup"] == "5 epochs"
    assert found["total_steps"] == "?"
    assert found["peak"] == 0.004
    assert found["end_factor"] == 0.025
    assert found["warmup_start"] == "early"  # `linspace` reaches its end with the last step


def test_another_array_at_the_same_place_is_no_schedule() -> None:
    text = ARRAY + (
        "decays = cosine_scheduler(0.04, 0.4, 30, 100)\n"
        "for epoch in range(30):\n"
        "    for it, (inputs, labels) in enumerate(train_loader):\n"
        "        for group in optimizer.param_groups:\n"
        "            group['weight_decay'] = decays[it]\n"
        "        model(inputs, labels).backward()\n        optimizer.step()\n"
    )
    assert "name" not in said(text)


def test_a_function_of_a_global_step() -> None:
    text = (
        "learning_rate, warmup_iters, decay_iters, min_lr = 6e-4, 20, 600, 6e-5\n"
        "decay_lr = True\n"
        "def get_lr(it):\n"
        "    if it < warmup_iters:\n        return learning_rate * (it + 1) / (warmup_iters + 1)\n"
        "    if it > decay_iters:\n        return min_lr\n"
        "    ratio = (it - warmup_iters) / (decay_iters - warmup_iters)\n"
        "    assert 0 <= ratio <= 1\n"
        "    return min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)\n"
        "iter_num = 0\n"
        "while True:\n"
        "    lr = get_lr(iter_num) if decay_lr else learning_rate\n"
        "    for group in optimizer.param_groups:\n        group['lr'] = lr\n"
        "    loss = model(x)\n    loss.backward()\n    optimizer.step()\n"
        "    iter_num += 1\n"
    )
    found = said(text)
    assert (found["name"], found["warmup"], found["total_steps"]) == ("cosine", 20, 600)
    assert (found["peak"], found["end_factor"]) == (6e-4, 0.1)
    assert found["warmup_start"] == "above_zero"
    assert said(text.replace("decay_lr = True", "decay_lr = False"))["name"] == "constant"


def test_drops_by_epoch_with_a_warm_up_by_step() -> None:
    text = (
        "def adjust(optimizer, epoch, step, per_epoch):\n"
        "    factor = epoch // 30\n"
        "    if epoch >= 80:\n        factor = factor + 1\n"
        "    lr = 0.4 * (0.1 ** factor)\n"
        "    if epoch < 5:\n"
        "        lr = lr * float(1 + step + epoch * per_epoch) / (5. * per_epoch)\n"
        "    for group in optimizer.param_groups:\n        group['lr'] = lr\n"
        "def train(loader, epoch):\n"
        "    i = 0\n"
        "    while True:\n"
        "        i += 1\n"
        "        adjust(optimizer, epoch, i, len(loader))\n"
        "        model(x).backward()\n        optimizer.step()\n"
        "for epoch in range(0, 90):\n    train(train_loader, epoch)\n"
    )
    found = said(text)
    assert (found["name"], found["has_warmup"], found["warmup"]) == (
        "step_custom",
        "yes",
        "5 epochs",
    )
    assert found["warmup_start"] == "above_zero"


def test_a_factor_of_the_rates_that_groups_were_made_with() -> None:
    text = (
        "for step in range(1000):\n"
        "    factor = min(1.0, step / 100)\n"
        "    for group in optimizer.param_groups:\n"
        "        group['lr'] = group['initial_lr'] * factor\n"
        "    model(x).backward()\n    optimizer.step()\n"
    )
    found = said(text)
    assert (found["name"], found["warmup"]) == ("constant", 100)
    assert "peak" not in found


def test_a_schedule_class_of_the_program() -> None:
    text = (
        "class RampPolicyLR(torch.optim.lr_scheduler._LRScheduler):\n"
        "    def __init__(self, optimizer, warmup, total):\n"
        "        self.warmup = warmup\n        self.total = total\n"
        "        super().__init__(optimizer)\n"
        "    def get_lr(self):\n"
        "        step = self.last_epoch\n"
        "        if step < self.warmup:\n"
        "            return [base * step / self.warmup for base in self.base_lrs]\n"
        "        left = (self.total - step) / (self.total - self.warmup)\n"
        "        return [base * left for base in self.base_lrs]\n"
        "scheduler = RampPolicyLR(optimizer, 10, 100)\n"
    )
    found = said(text + STEP)
    assert (found["name"], found["warmup"], found["total_steps"]) == ("linear", 10, 100)


def test_the_fit_of_values_that_end() -> None:
    rates = [0.1 * (1 + math.cos(math.pi * step / 80)) / 2 for step in range(80)]

    def rate(step: int) -> float:
        if step >= len(rates):
            raise NoValueError
        return rates[step]

    found = fit(rate, [80])
    assert found == Curve(name="cosine", peak=0.1, total=80, end=0.0)


@pytest.mark.parametrize("values", [[0.1], [math.nan] * 100, [-1.0] * 100, [math.inf] * 100])
def test_values_that_say_nothing(values: list[float]) -> None:
    def rate(step: int) -> float:
        if step >= len(values):
            raise NoValueError
        return values[step]

    assert fit(rate, []) is None


@pytest.mark.parametrize(
    ("rates", "limits", "expected"),
    [
        ([0.1] * 90, [80], Curve(name="constant", peak=0.1)),
        ([0.1] * 30 + [0.01] * 30 + [0.001] * 30, [30, 60], Curve(name="step", peak=0.1)),
        ([0.1] * 40 + [0.1 - 0.0025 * step for step in range(40)], [40, 80], "linear"),
        ([0.1 - 1e-5 * step for step in range(9000)], [], Curve(name="custom", peak=0.1)),
        ([0.1, 0.05] + [0.0] * 99, [2], Curve(name="step_custom", peak=0.1)),
        (
            [0.05 + 0.05 * math.cos(math.pi * step / 100) for step in range(80)],
            [100],
            Curve(name="custom", peak=0.1),
        ),
    ],
)
def test_other_fits_of_values_that_end(
    rates: list[float], limits: list[int], expected: Curve | str
) -> None:
    def rate(step: int) -> float:
        if step >= len(rates):
            raise NoValueError
        return rates[step]

    found = fit(rate, limits)
    assert found == expected or (found is not None and (found.name, found.hold) == (expected, 40))


def test_a_rate_that_falls_too_slowly_for_steps_has_none() -> None:
    """No fall between two samples is larger than what counts as equal, their sum is."""
    found = fit(lambda step: 1 - 1.235e-9 * step - 1.34e-13 * step**3, [])
    assert found is not None
    assert found.name == "custom"
