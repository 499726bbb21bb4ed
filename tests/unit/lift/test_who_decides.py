"""What a launch, a file of settings, a release or a switch decides is read or left open."""

from __future__ import annotations

import textwrap

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse, together
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.recipe_draft import Filled


def lifted(**files: str) -> dict[str, Filled]:
    """Lift files by name (`run_sh`, `train_py`), the first one being what starts the program."""
    sources = [
        Source(name.replace("__", "/").replace("_", ".", 1), textwrap.dedent(text))
        for name, text in files.items()
    ]
    return dict(lift(analyse(together(sources))).fields)


LOOP = """\
import os
import torch
steps = 6
rate = 0.3
clip = 1.0
batch_size = 4
max_iters = 100
BEFORE
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
for epoch in range(9):
    for turn in range(steps):
        loss = model(torch.ones(batch_size, 4)).mean() / steps
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
"""
RUN = "torchrun --nproc_per_node=2 train.py\n"
DIVIDED = """
if int(os.environ.get("RANK", -1)) != -1:
    steps //= int(os.environ["WORLD_SIZE"])
"""


@pytest.mark.parametrize(
    ("before", "run", "how"),
    [(DIVIDED, RUN, "assumed"), (DIVIDED, "python train.py\n", "read"), ("", RUN, "read")],
    ids=["divided among processes", "one process", "not divided"],
)
def test_window_divided_among_processes(before: str, run: str, how: str) -> None:
    fields = lifted(run_sh=run, train_py=LOOP.replace("BEFORE", before))
    assert (fields["accumulation.steps"].value, fields["accumulation.steps"].how) == (6, how)


CONFIGURED = LOOP.replace("BEFORE", "exec(open('settings.py').read())")
SETTINGS = "batch_size = 8\nmax_iters = 50\nrate = 0.2\nclip = 2 * 0.25\n"


def test_file_of_settings_that_is_run_over_globals() -> None:
    fields = lifted(run_sh="python train.py\n", train_py=CONFIGURED, tiny_py=SETTINGS)
    assert fields["optimizer.learning_rate"].value == 0.2
    assert fields["clipping.max_norm"].value == 0.5


def test_option_of_the_command_wins_over_the_file() -> None:
    run = "python train.py --rate=0.05\n"
    fields = lifted(run_sh=run, train_py=CONFIGURED, tiny_py=SETTINGS)
    assert fields["optimizer.learning_rate"].value == 0.05


@pytest.mark.parametrize(
    ("program", "settings"),
    [
        (LOOP.replace("BEFORE", ""), SETTINGS),
        (LOOP.replace("BEFORE", "exec('print(1)')"), SETTINGS),
        (CONFIGURED, "other = 1\nrate = 0.2\n"),
        (CONFIGURED, f"{SETTINGS}def rate():\n    return 0.2\n"),
    ],
    ids=["nothing is run", "no file is run", "few names in common", "more than settings"],
)
def test_other_files_replace_no_globals(program: str, settings: str) -> None:
    fields = lifted(run_sh="python train.py\n", train_py=program, tiny_py=settings)
    assert fields["optimizer.learning_rate"].value == 0.3


def test_globals_assigned_after_the_file_stay() -> None:
    program = CONFIGURED.replace("model = ", "rate = 0.4\nmodel = ")
    fields = lifted(run_sh="python train.py\n", train_py=program, tiny_py=SETTINGS)
    assert fields["optimizer.learning_rate"].value == 0.4


PARSED = """\
import configargparse
import torch
parser = configargparse.ArgumentParser()
parser.add("-c", "--settings", MARK)
parser.add("--rate", type=float, default=0.3)
parser.add("--kind", default="sgd")
opt = parser.parse_args()
model = torch.nn.Linear(4, 4)
if opt.kind == "sgd":
    optimizer = torch.optim.SGD(model.parameters(), lr=opt.rate)
elif opt.kind == "adam":
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.rate)
for epoch in range(9):
    loss = model(torch.ones(4, 4)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
YAML = "rate: 0.125\nkind: adam\nother: 3\n"


def test_options_in_a_file_of_configargparse() -> None:
    program = PARSED.replace("MARK", "is_config_file=True")
    run = "python train.py --settings tiny.yaml\n"
    fields = lifted(run_sh=run, train_py=program, tiny_yaml=YAML)
    assert fields["optimizer.name"].value == "adam"
    assert fields["optimizer.learning_rate"].value == 0.125
    fields = lifted(run_sh=f"{run[:-1]} --rate 0.5\n", train_py=program, tiny_yaml=YAML)
    assert fields["optimizer.learning_rate"].value == 0.5


@pytest.mark.parametrize(
    ("mark", "run"),
    [
        ("default=None", "python train.py --settings tiny.yaml\n"),
        ("is_config_file=False", "python train.py --settings tiny.yaml\n"),
        ("is_config_file=True", "python train.py\n"),
    ],
    ids=["another option", "a mark that is off", "a command without it"],
)
def test_files_that_set_no_options(mark: str, run: str) -> None:
    fields = lifted(run_sh=run, train_py=PARSED.replace("MARK", mark), tiny_yaml=YAML)
    assert fields["optimizer.learning_rate"].value == 0.3


CHOSEN = """\
import sys
import torch
import elsewhere
KIND
model = torch.nn.Linear(4, 4)
if kind == "sgd":
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, weight_decay=0.1)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
for epoch in range(9):
    loss = model(torch.ones(4, 4)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_optimizer_that_an_unknown_switch_chooses() -> None:
    fields = lifted(train_py=CHOSEN.replace("KIND", "kind = elsewhere.kind()"))
    assert fields["optimizer.name"].how == "assumed"
    assert fields["optimizer.weight_decay"].how == "assumed"
    assert fields["optimizer.learning_rate"].how == "read"  # both have it


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (CHOSEN.replace("KIND", "kind = 'sgd'"), "sgd"),
        (CHOSEN.replace("KIND", "kind = elsewhere.kind()").replace("SGD", "Adam"), "adam"),
    ],
    ids=["a known switch", "two of the same family"],
)
def test_optimizer_that_is_sure(program: str, name: str) -> None:
    filled = lifted(train_py=program)["optimizer.name"]
    assert (filled.value, filled.how) == (name, "read")


COMPUTED = """\
import math
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
class Course:
    def __init__(self, model):
        self.size = model.size
    def now(self):
        return self.size ** -0.5 * min(self.count ** -0.5, self.count)
course = Course(model)
for epoch in range(9):
    rate = VALUE
    for group in optimizer.param_groups:
        group["lr"] = rate
    loss = model(torch.ones(4, 4)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(("value", "how"), [("course.now()", "assumed"), ("rates[epoch]", "read")])
def test_rate_that_a_function_of_the_program_computes(value: str, how: str) -> None:
    fields = lifted(train_py=COMPUTED.replace("VALUE", value))
    assert fields["optimizer.learning_rate"].how == how


SWITCHED = """\
import torch
class Settings:
    MARK
    def half(self):
        return self.kind == "half"
settings = Settings()
model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for epoch in range(9):
    with torch.autocast("cuda", dtype=torch.float16, enabled=SWITCH):
        loss = model(torch.ones(4, 4)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_property_as_a_switch_is_not_known() -> None:
    program = SWITCHED.replace("MARK", "@property").replace("SWITCH", "settings.half")
    assert lifted(train_py=program)["precision.mode"].how == "assumed"
    program = SWITCHED.replace("MARK", "kind = 0").replace("SWITCH", "True")
    filled = lifted(train_py=program)["precision.mode"]
    assert (filled.value, filled.how) == ("mixed", "read")


TYPED = """\
import torch
from elsewhere import args
if args.fp16:
    kind = torch.float16
else:
    kind = torch.float32
model = torch.nn.Linear(4, 4)
model.to(KIND)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
masters = [p.float() for p in model.parameters()]
for epoch in range(9):
    loss = model(torch.ones(4, 4)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_model_in_a_type_that_a_condition_chooses() -> None:
    filled = lifted(train_py=TYPED.replace("KIND", "kind"))["precision.compute_dtype"]
    assert filled.value != "float16" or filled.how == "assumed"


FLUID = """\
import paddle.fluid as fluid
x = fluid.data("x", [None, 4])
loss = fluid.layers.mean(fluid.layers.fc(x, 1))
optimizer = fluid.optimizer.Adam(learning_rate=0.1)
optimizer.minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
for step in range(9):
    exe.run(feed={}, fetch_list=[loss])
"""


@pytest.mark.parametrize(
    ("versions", "value", "how"),
    [
        ({}, "before_correction", "assumed"),
        ({"paddle": "1.8"}, "before_correction", "default"),
        ({"paddle": "2.2"}, "after_correction", "default"),
    ],
)
def test_epsilon_of_fluid(versions: dict[str, str], value: str, how: str) -> None:
    fields = lift(analyse([Source("train.py", FLUID)], versions)).fields
    filled = fields["optimizer.eps_placement"]
    assert (filled.value, filled.how) == (value, how)


def notes(run: str) -> list[str]:
    program = LOOP.replace("BEFORE", "")
    sources = [Source("run.sh", run), Source("train.py", program)]
    return [d.message for d in lift(analyse(together(sources))).diagnostics if d.path == "model"]


@pytest.mark.parametrize(
    "flag", ["--init_checkpoint=bert.ckpt", "--init_pretraining_params params", "--pretrained"]
)
def test_trained_weights_that_a_launch_starts_from(flag: str) -> None:
    (note,) = notes(f"python train.py {flag}\n")
    assert note.startswith("it starts from trained weights")


@pytest.mark.parametrize(
    "flag",
    ["--init_checkpoint=", "--pretrained false", "--pretrained_config a.json", "--init_lr 0.1"],
)
def test_flags_that_name_no_weights(flag: str) -> None:
    assert not notes(f"python train.py {flag}\n")


GRAPH = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(LAYER(x, 1))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    for step in range(9):
        session.run(train)
"""


@pytest.mark.parametrize(
    ("layer", "how"),
    [("tf.contrib.layers.fully_connected", "assumed"), ("tf.layers.dense", "default")],
)
def test_tf32_of_a_program_for_tensorflow_1(layer: str, how: str) -> None:
    assert lifted(train_py=GRAPH.replace("LAYER", layer))["precision.tf32"].how == how


LOADERS = """\
import torch
from torch.utils.data import DataLoader
def rows(data, is_train):
    return DataLoader(data, batch_size=4, drop_last=is_train)
def images(data):
    return DataLoader(data, batch_size=4SECOND)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for batch in images(range(9)):
    loss = torch.nn.functional.mse_loss(model(batch), batch)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_loaders_that_differ_in_the_last_batch() -> None:
    assert lifted(train_py=LOADERS.replace("SECOND", ""))["accumulation.tail"].how == "assumed"
    same = LOADERS.replace("drop_last=is_train", "shuffle=is_train").replace("SECOND", "")
    assert lifted(train_py=same)["accumulation.tail"].how == "read"
