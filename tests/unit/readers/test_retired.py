"""Programs of a framework that is developed no more: a note says so, and nothing else is said."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lint.engine import lint_sources

GLUON = """
import argparse
from mxnet import autograd, gluon, npx
from mxnet.gluon import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
devices = [npx.gpu(0), npx.gpu(1)]
net = nn.Sequential()
net.add(nn.Conv2D(6, 5, activation="tanh"), nn.AvgPool2D(2), nn.Dense(10))
net.initialize(ctx=devices)
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": args.lr})
for features, labels in train_iter:
    shards = gluon.utils.split_and_load(features, devices)
    with autograd.record():
        losses = [loss(net(x), y) for x, y in zip(shards, labels)]
    for one in losses:
        one.backward()
    trainer.step(256)
"""
MODULE = """
import mxnet as mx

module = mx.mod.Module(symbol, context=[mx.gpu(0), mx.gpu(1)])
module.fit(rows, optimizer="sgd", optimizer_params={"learning_rate": 0.1}, num_epoch=3)
"""
WRAPPED = """
import gluonnlp as nlp

trainer = nlp.optimizer.BERTAdam(learning_rate=5e-5)
trainer.step(32)
"""
TORCH = """
import torch
{imports}
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
"""


def lifted(text: str) -> Lifted:
    return lift(analyse([Source("train.py", text)]))


def linted(text: str) -> list[str]:
    return [finding.code for finding in lint_sources([Source("train.py", text)])]


@pytest.mark.parametrize("text", [GLUON, MODULE, WRAPPED], ids=["gluon", "module", "wrapped"])
def test_a_retired_framework_is_a_note(text: str) -> None:
    found = lifted(text)
    (note,) = found.diagnostics
    assert (note.code, str(note.severity), found.recipe, found.text) == ("CC913", "note", None, "")
    assert "MXNet" in note.message
    assert note.span is not None
    assert note.span.file == "train.py"


def test_no_rule_is_asked_about_it() -> None:
    assert linted(GLUON) == ["CC913"]


@pytest.mark.parametrize(
    "text",
    [
        TORCH.format(imports=""),
        TORCH.format(imports="from mxnet import recordio\nrows = recordio.MXRecordIO(path, 'r')\n"),
        TORCH.format(imports="# was: from mxnet import gluon\n"),
        "print('mxnet')\n",
        "import mxnet_tools\nmxnet_tools.Trainer().fit()\n",
    ],
    ids=["torch", "its files only", "a comment", "a text", "another package"],
)
def test_other_programs_are_read_as_before(text: str) -> None:
    found = lifted(text)
    assert "CC913" not in {diagnostic.code for diagnostic in found.diagnostics}
    assert "CC913" not in linted(text)
    assert (found.recipe is not None) == ("torch.optim" in text)


def test_a_launch_script_of_it_makes_a_recipe_with_the_note() -> None:
    shell = Source("run.sh", "python train.py --lr 0.2 --fp16\n")
    found = lift(analyse([shell, Source("train.py", GLUON)]))
    assert [diagnostic.code for diagnostic in found.diagnostics if diagnostic.code == "CC913"] == [
        "CC913"
    ]
