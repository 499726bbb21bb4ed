"""The loss of Lightning modules and of Hugging Face's Trainer."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_trainers.reading.lightning import READER as LIGHTNING
from crosscast_trainers.reading.transformers import READER as TRANSFORMERS
from reading_helpers.reader_texts import command, shell, value_of
from reading_helpers.torch_programs import read_by

MODULE = """
import torch
from torch import nn
from torch.nn import functional as F
import lightning as L

class Model(L.LightningModule):
    def __init__(self, weights=None):
        super().__init__()
        self.net = nn.Linear(4, 3)
        {init}

    def shared(self, batch):
        x, y = batch
        logits = self.net(x)
        {shared}

    def training_step(self, batch, batch_idx):
        x, y = batch
        {step}

    def validation_step(self, batch, batch_idx):
        x, y = batch
        return F.l1_loss(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
    {more}

L.Trainer(max_epochs=2).fit(Model({weights}), loader)
"""


def of_module(
    step: str, init: str = "pass", shared: str = "return logits", more: str = "", weights: str = ""
) -> dict[str, Any]:
    text = MODULE.format(init=init, step=step, shared=shared, more=more, weights=weights)
    found = read_by(LIGHTNING, text)
    return {path: value for path, value in found.items() if path.startswith("loss.")}


STEP = "loss = self.criterion(self.net(x), y)\n        return loss"
CROSS_ENTROPY = {"loss.kind": "cross_entropy"}
MSE = {"loss.kind": "mse"}
OWN = {"loss.kind": "?"}


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("self.criterion = nn.CrossEntropyLoss()", CROSS_ENTROPY),
        (
            "self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)",
            CROSS_ENTROPY | {"loss.label_smoothing": 0.1},
        ),
        ("self.criterion = nn.MSELoss()", MSE),
        ("self.criterion = nn.BCEWithLogitsLoss()", {"loss.kind": "binary_cross_entropy"}),
        ("self.criterion = F.cross_entropy", CROSS_ENTROPY),
        # another criterion only evaluates, or is not used at all
        ("self.criterion = nn.MSELoss(); self.eval_criterion = nn.L1Loss()", MSE),
        (
            "self.criterion = nn.CrossEntropyLoss(ignore_index=0)",
            CROSS_ENTROPY | {"loss.ignore_index": 0},
        ),
        ("self.criterion = nn.L1Loss()", OWN | {"loss.named": "l1"}),
        ("self.criterion = nn.MSELoss(reduction='sum')", OWN),
        ("self.criterion = criteria[name]", OWN),
        ("self.other = nn.CrossEntropyLoss()", OWN),
    ],
)
def test_the_criterion_of_a_module(init: str, expected: dict[str, Any]) -> None:
    assert of_module(STEP, init) == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [



        ("return dict(loss=F.mse_loss(self.net(x), y))", MSE),

        ("if skip:\n            return None\n        return F.mse_loss(self.net(x), y)", MSE),
        ("return F.mse_loss(self.net(x), y, reduction='none').mean(1).sum()", OWN),




        ("out = {'loss': F.mse_loss(self.net(x), y)}\n        out['loss'] *= 2\n        return out",
         OWN),



    ],
)  # fmt: skip
def test_what_a_training_step_returns(step: str, expected: dict[str, Any]) -> None:
    assert of_module(step, "self.criterion = nn.CrossEntropyLoss()") == expected


def test_a_module_that_changes_its_loss_later() -> None:
    step = "return F.mse_loss(self.net(x), y)"
    for more in (
        "def training_step_end(self, loss):\n        return 2 * loss",
        "def backward(self, loss):\n        (2 * loss).backward()",
    ):
        assert of_module(step, more=more) == OWN


TRAINER = """
import torch
from transformers import AutoConfig, Trainer, TrainingArguments, Seq2SeqTrainingArguments
from transformers import AutoModelFor{model}, Seq2SeqTrainer
{before}
model = AutoModelFor{model}.from_pretrained("bert-base-uncased")
args = {arguments}("out", learning_rate=2e-5, label_smoothing_factor={smoothing})
trainer = {trainer}(model=model, args=args{given})
trainer.train()
"""


def of_trainer(
    smoothing: str = "0.1",
    before: str = "",
    model: str = "SequenceClassification",
    arguments: str = "TrainingArguments",
    trainer: str = "Trainer",
    given: str = "",
) -> dict[str, Any]:
    text = TRAINER.format(
        before=before,
        model=model,
        arguments=arguments,
        trainer=trainer,
        smoothing=smoothing,
        given=given,
    )
    found = read_by(TRANSFORMERS, text)
    return {path: value for path, value in found.items() if path.startswith("loss.")}


BY_TRAINER = {"loss.smoothed_by": "trainer"}


def test_smoothing_of_the_trainer() -> None:
    assert of_trainer() == BY_TRAINER | {"loss.trainer_smoothing": 0.1}
    assert of_trainer("0") == BY_TRAINER | {"loss.trainer_smoothing": 0}
    assert of_trainer("share()") == BY_TRAINER | {"loss.trainer_smoothing": "?"}
    assert of_trainer(arguments="Seq2SeqTrainingArguments", trainer="Seq2SeqTrainer") == (
        BY_TRAINER | {"loss.trainer_smoothing": 0.1}
    )


@pytest.mark.parametrize(
    "more",
    [
        {"model": "QuestionAnswering"},  # its rows have no labels: nothing is smoothed
        {"model": "CausalLM"},  # its labels are shifted by one
        {"before": "from trl import SFTTrainer", "trainer": "SFTTrainer"},
    ],
)
def test_a_trainer_that_does_not_smooth_as_a_recipe_does(more: dict[str, str]) -> None:
    assert of_trainer(**more) == {"loss.trainer_smoothing": 0.1}


def test_preferences_are_smoothed_otherwise() -> None:
    text = "from trl import DPOConfig\nargs = DPOConfig('out', label_smoothing_factor=0.1)\n"
    assert not any(path.startswith("loss.") for path in read_by(TRANSFORMERS, text))


def test_smoothing_on_the_command_line() -> None:
    flags = "--do_train --save_steps 10 --num_train_epochs 3 --label_smoothing_factor 0.1"
    assert command(f"python train.py {flags}")
    assert value_of(shell(f"python train.py {flags}"), "loss.trainer_smoothing") == 0.1
    flags += " --scale_loss 1024"
    assert value_of(shell(f"python train.py {flags}"), "loss.trainer_smoothing") is None
