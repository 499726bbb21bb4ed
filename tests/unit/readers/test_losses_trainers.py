"""The loss of Lightning modules and of Hugging Face's Trainer."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.readers.config.hf_arguments_json import READER as JSON
from crosscast_trainers.reading.lightning import READER as LIGHTNING
from crosscast_trainers.reading.transformers import READER as TRANSFORMERS
from reading_helpers.reader_texts import command, read, shell, value_of
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


def test_weights_that_are_a_tensor() -> None:
    of_classes = "self.criterion = nn.CrossEntropyLoss(weight=weights)"
    weighted = CROSS_ENTROPY | {"loss.class_weights": "weighted_mean"}
    of_elements = "self.criterion = nn.BCEWithLogitsLoss(pos_weight=weights)"
    for weights in ("class_weights", "torch.tensor([1.0, 2.0])"):
        assert of_module(STEP, of_classes, weights=weights) == weighted
        assert of_module(STEP, of_elements, weights=weights) == OWN
    assert of_module(STEP, of_classes) == CROSS_ENTROPY
    assert of_module(STEP, of_elements) == {"loss.kind": "binary_cross_entropy"}
    assert of_module(STEP, of_classes.replace("weights)", "self.counted())")) == weighted


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("return F.cross_entropy(self.net(x), y)", CROSS_ENTROPY),
        ("return {'loss': F.mse_loss(self.net(x), y), 'x': x}", MSE),
        ("out = {'loss': F.mse_loss(self.net(x), y)}\n        return out", MSE),
        ("return dict(loss=F.mse_loss(self.net(x), y))", MSE),
        ("return F.mse_loss(self.net(x), y, reduction='none').mean()", MSE),
        ("if skip:\n            return None\n        return F.mse_loss(self.net(x), y)", MSE),
        ("return F.mse_loss(self.net(x), y, reduction='none').mean(1).sum()", OWN),
        ("return F.mse_loss(self.net(x), y, reduction='none').sum()", OWN),
        ("return 0.5 * F.mse_loss(self.net(x), y)", OWN),
        ("return F.mse_loss(self.net(x), y) + self.penalty()", OWN),
        ("loss = F.mse_loss(self.net(x), y)\n        loss += penalty\n        return loss", OWN),
        ("out = {'loss': F.mse_loss(self.net(x), y)}\n        out['loss'] *= 2\n        return out",
         OWN),
        ("return F.cross_entropy(self.net(x), y) if warm else F.mse_loss(self.net(x), y)", OWN),
        ("return self.net(x, labels=y).loss", OWN),
        ("self.log('loss', F.mse_loss(self.net(x), y))", {}),
    ],
)  # fmt: skip
def test_what_a_training_step_returns(step: str, expected: dict[str, Any]) -> None:
    assert of_module(step, "self.criterion = nn.CrossEntropyLoss()") == expected


@pytest.mark.parametrize(
    "step",
    [
        "loss = self(batch)\n        return loss",
        "return self(x, y)",
        "return self.forward(batch)",
        "return {'loss': self(batch)}",
        "loss = self(batch) / 2\n        return loss",
        "loss, logits = self(batch)\n        return loss",
        "out = self(batch)\n        return out.loss",
        "return self(batch)['loss']",
        "return self.net(x).mean()",
    ],
)
def test_a_loss_of_the_module_itself(step: str) -> None:
    """Calling the module must cost neither its loss nor what is read of the trainer."""
    forward = "def forward(self, batch):\n        return self.net(batch)"
    text = MODULE.format(init="pass", step=step, shared="pass", more=forward, weights="")
    text = text.replace("max_epochs=2", "precision='bf16-mixed', accumulate_grad_batches=4")
    found = read_by(LIGHTNING, text)
    assert found["loss.kind"] == "?"
    assert found["accumulation.steps"] == 4
    assert found["precision.compute_dtype"] == "bfloat16"


@pytest.mark.parametrize(
    ("step", "shared", "expected"),
    [
        ("return self.shared(batch)", "return F.mse_loss(logits, y)", MSE),
        ("return self.shared(batch)", "return {'loss': F.mse_loss(logits, y)}", MSE),
        (
            "loss, logits = self.shared(batch)\n        return loss",
            "return F.cross_entropy(logits, y), logits",
            CROSS_ENTROPY,
        ),
        (
            "loss, logits = self.shared(batch)\n        return loss",
            "return logits, F.cross_entropy(logits, y)",
            OWN,
        ),
    ],
)
def test_a_step_that_training_and_evaluation_share(
    step: str, shared: str, expected: dict[str, Any]
) -> None:
    assert of_module(step, shared=shared) == expected


def test_a_module_that_changes_its_loss_later() -> None:
    step = "return F.mse_loss(self.net(x), y)"
    for more in (
        "def training_step_end(self, loss):\n        return 2 * loss",
        "def backward(self, loss):\n        (2 * loss).backward()",
    ):
        assert of_module(step, more=more) == OWN


def test_a_module_that_steps_by_hand_is_a_loop() -> None:
    step = "self.manual_backward(F.mse_loss(self.net(x), y))"
    assert of_module(step, "self.automatic_optimization = False") == {}


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


MINE = """
class MyTrainer(Trainer):
    def {method}(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = {loss}
        return {returned}
"""
BOTH = "(loss, outputs) if return_outputs else loss"
FUNCTION = "torch.nn.functional.cross_entropy(outputs.logits, labels)"


def mine(method: str = "compute_loss", loss: str = FUNCTION, returned: str = BOTH) -> str:
    return MINE.format(method=method, loss=loss, returned=returned)


def test_a_trainer_whose_loss_the_program_computes() -> None:
    given = {"loss.trainer_smoothing": 0.1}
    assert of_trainer(before=mine(), trainer="MyTrainer") == given | CROSS_ENTROPY
    assert of_trainer(before=mine(returned="loss"), trainer="MyTrainer") == given | CROSS_ENTROPY
    for loss in ("outputs.loss", f"2 * {FUNCTION}", f"{FUNCTION} + outputs.loss"):
        assert of_trainer(before=mine(loss=loss), trainer="MyTrainer") == given | OWN
    assert of_trainer(before=mine("log_loss"), trainer="MyTrainer") == given | BY_TRAINER
    # the class is not used
    assert of_trainer(before=mine()) == given | BY_TRAINER


@pytest.mark.parametrize(
    "more",
    [
        {"model": "QuestionAnswering"},  # its rows have no labels: nothing is smoothed
        {"model": "CausalLM"},  # its labels are shifted by one
        {"given": ", compute_loss_func=mine"},
        {"given": ", **more"},
        {"before": "config = AutoConfig('x', problem_type='multi_label_classification')"},
        {"before": "from trl import SFTTrainer", "trainer": "SFTTrainer"},
    ],
)
def test_a_trainer_that_does_not_smooth_as_a_recipe_does(more: dict[str, str]) -> None:
    assert of_trainer(**more) == {"loss.trainer_smoothing": 0.1}


def test_preferences_are_smoothed_otherwise() -> None:
    text = "from trl import DPOConfig\nargs = DPOConfig('out', label_smoothing_factor=0.1)\n"
    assert not any(path.startswith("loss.") for path in read_by(TRANSFORMERS, text))


ARGUMENTS = '{"num_train_epochs": 3, "output_dir": "out", "save_steps": 10, "do_train": true, %s}'


def test_smoothing_in_a_file_of_arguments() -> None:
    text = ARGUMENTS % '"per_device_train_batch_size": 4, "label_smoothing_factor": 0.1'
    assert value_of(read(JSON, text, "args.json"), "loss.trainer_smoothing") == 0.1
    # PaddleNLP's Trainer has no such argument
    text = text.replace("{", '{"recompute": true, ', 1)
    assert value_of(read(JSON, text, "args.json"), "loss.trainer_smoothing") is None


def test_smoothing_on_the_command_line() -> None:
    flags = "--do_train --save_steps 10 --num_train_epochs 3 --label_smoothing_factor 0.1"
    assert command(f"python train.py {flags}")
    assert value_of(shell(f"python train.py {flags}"), "loss.trainer_smoothing") == 0.1
    flags += " --scale_loss 1024"
    assert value_of(shell(f"python train.py {flags}"), "loss.trainer_smoothing") is None
