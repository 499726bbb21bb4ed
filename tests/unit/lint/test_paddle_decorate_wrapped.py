"""Models that are decorated behind the wrapper for several devices, and before it (CL814)."""

from __future__ import annotations

import pytest

from .lint_results import codes

TRAINER = """
import paddle

class Trainer:
    def __init__(self, model, args):
        self.model = model
        {set}

    def train(self, args):
        model = self.model
        if args.half:
            model = paddle.amp.decorate(models={models}, level={level})

def main(args):
    model = Net()
    if args.several:
        {wrap}
    Trainer(model, args).train(args)

main(args)
"""
WRAP = "model = paddle.DataParallel(model)"


@pytest.mark.parametrize(
    ("wrap", "models", "level", "found"),
    [
        (WRAP, "model", "'O2'", True),
        (WRAP, "[model]", "'O2'", True),
        (WRAP, "self.model", "'O2'", True),
        (WRAP, "model", "'O1'", False),
        (WRAP, "model", "args.level", False),
        (WRAP, "self.model._layers", "'O2'", False),
        ("model = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(model)", "model", "'O2'", False),
        ("wrapped = paddle.DataParallel(model)", "model", "'O2'", False),
    ],
)
def test_models_of_another_function(wrap: str, models: str, level: str, found: bool) -> None:
    text = TRAINER.format(wrap=wrap, models=models, level=level, set="pass")
    assert ("CL814" in codes(text)) is found


def test_an_attribute_with_several_values() -> None:
    text = TRAINER.format(wrap=WRAP, models="model", level="'O2'", set="self.model = Net()")
    assert "CL814" not in codes(text)


BOTH = """
import paddle
model = Net()
{first}
{second}
"""
DECORATE = "model = paddle.amp.decorate(model, level='O2')"


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (WRAP, DECORATE, True),
        (DECORATE, WRAP, False),
        (f"if args.several: {WRAP}", f"if args.half: {DECORATE}", True),
        (f"if args.several: {WRAP}", f"if not args.several: {DECORATE}", False),
        (f"if args.several: {WRAP}", f"if args.several and args.half: {DECORATE}", True),
        (f"if args.several: {WRAP}", f"if not isinstance(model, Wrapped): {DECORATE}", False),
        (WRAP, f"try:\n    {DECORATE}\nexcept RuntimeError:\n    pass", False),
        (f"if args.several: {WRAP}", f"else: {DECORATE}", False),
    ],
)
def test_order_and_conditions(first: str, second: str, found: bool) -> None:
    assert ("CL814" in codes(BOTH.format(first=first, second=second))) is found
