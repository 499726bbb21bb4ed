"""What is said where files that were not given decide: who does, and no more than can be seen."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python import accumulation as py_accumulation
from crosscast_reading.readers.python import mmengine as py_mmengine
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_torch.reading import amp as py_torch_amp
from crosscast_torch.reading import manual_fp16 as py_manual_fp16
from crosscast_torch.reading import optimizers as py_torch_optimizers
from crosscast_torch.reading import parallel as py_torch_parallel
from crosscast_torch.reading import schedules as py_torch_schedules
from program_facts import values_of
from reader_texts import shell, shown
from torch_programs import STEP, read_by

EPOCHS = """
for epoch in range(9):
    for x, y in loader:
        {before}
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    {after}
"""


def loop(before: str = "pass", after: str = "pass") -> str:
    return EPOCHS.format(before=before.replace("\n", "\n        "), after=after)


def decay(text: str) -> Any:
    return read_by(py_torch_schedules.READER, "import torch\n" + text).get("schedule.name")


def test_a_schedule_that_another_file_makes() -> None:
    text = "from helpers import both\noptimizer, scheduler = both(args, model)\n"
    assert decay(text + loop(after="scheduler.step()")) == "elsewhere"
    assert decay(text + loop(after="print(scheduler)")) is None


def test_a_method_of_the_model_moves_the_rate() -> None:
    assert decay(loop(after="model.module.update_learning_rate()")) == "elsewhere"


def test_rates_that_the_caller_brings() -> None:
    body = "for group in optimizer.param_groups:\n    group['lr'] = rates[step]"
    text = "def train(model, loader, optimizer, rates, step, criterion):\n"
    assert decay(text + textwrap.indent(loop(body), "    ")) == "caller"


@pytest.mark.parametrize(
    ("maker", "word"),
    [
        ("tools.cosine_scheduler(args.lr, args.low, 9, warmup_epochs=2)", "cosine"),
        ("tools.rates_of_the_house(args.lr, 9)", "custom"),
    ],
)
def test_a_table_of_rates_that_another_file_makes(maker: str, word: str) -> None:
    body = "for group in optimizer.param_groups:\n    group['lr'] = table[epoch]"
    found = read_by(
        py_torch_schedules.READER, f"import torch\nimport tools\ntable = {maker}\n" + loop(body)
    )
    assert found["schedule.name"] == word
    assert ("schedule.has_warmup" in found) is ("warmup" in maker)


def test_a_table_that_is_only_handed_on() -> None:
    text = "import tools\nlr_values = tools.cosine_scheduler(0.1, 0.0, 9, warmup_epochs=3)\n"
    assert decay(text + loop()) == "cosine"
    assert decay(text.replace("lr_values", "momentum_values") + loop()) is None


def test_a_function_that_sets_the_rate_it_is_given() -> None:
    text = """
    def set_rate(optimizer, rate):
        for group in optimizer.param_groups:
            group["lr"] = rate
    """
    body = "while index < 3 and step >= args.drops[index]:\n    index += 1\n"
    body += "    set_rate(optimizer, args.lr * args.gamma ** step_index)"
    assert decay(textwrap.dedent(text) + loop(body)) == "step_custom"


def test_one_of_two_formulas_is_elsewhere() -> None:
    text = """
    from helpers import curve
    if args.straight:
        shape = lambda epoch: 1 - epoch / 9
    else:
        shape = curve(1, 0.1, 9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=shape)
    """
    assert decay(textwrap.dedent(text) + loop(after="scheduler.step()")) == "selectable"


def optimizers(text: str) -> dict[str, Any]:
    found = read_by(py_torch_optimizers.READER, "import torch\n" + text)
    return {k: v for k, v in found.items() if k.startswith("optimizer.name")}


def test_an_optimizer_that_another_file_makes() -> None:
    text = "from helpers import everything\nmodel, optimizer, loader = everything()\n"
    assert optimizers(text + STEP) == {"optimizer.name of optimizer": "elsewhere"}
    text = "from helpers import get_optimization\noptimizer = get_optimization(model)\n"
    assert list(optimizers(text + STEP).values()) == ["elsewhere"]


def test_a_wrapper_is_no_optimizer() -> None:
    text = "from apex.optimizers import FP16_Optimizer, FusedAdam\n"
    text += "optimizer = FusedAdam(model.parameters(), lr=1e-3)\n"
    text += "optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)\n"
    assert list(optimizers(text + STEP).values()) == ["adamw"]


ARGS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--half", default=True, type=bool)
args = parser.parse_args()
"""
SCALED = """
{indent}for x, y in loader:
{indent}    with torch.cuda.amp.autocast(scaler is not None):
{indent}        loss = model(x, y)
{indent}    scaler.scale(loss).backward()
{indent}    scaler.step(optimizer)
{indent}    scaler.update()
"""


@pytest.mark.parametrize("handed", [False, True])
@pytest.mark.parametrize(("default", "word"), [("True", "float16"), ("False", "float32")])
def test_a_scaler_that_may_be_none(handed: bool, default: str, word: str) -> None:
    text = ARGS.replace("default=True", f"default={default}")
    text += "scaler = None\nif args.half:\n    scaler = torch.cuda.amp.GradScaler()\n"
    if handed:
        run = "def run(model, loader, optimizer, scaler):" + SCALED.format(indent="    ")
        text = run + text + "run(model, loader, optimizer, scaler)\n"
        text = "import torch\n" + text
    else:
        text += SCALED.format(indent="")
    found = read_by(py_torch_amp.READER, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == word


def test_a_wrapped_scaler_that_the_caller_brings() -> None:
    text = """
    import torch
    def train(model, loader, optimizer, loss_scaler, amp=False):
        for x in loader:
            if amp:
                with torch.cuda.amp.autocast():
                    loss = model(x)
                loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
            else:
                model(x).backward()
                optimizer.step()
            optimizer.zero_grad()
    """
    assert read_by(py_torch_amp.READER, text)["loss_scaling.mode"] == "caller"


def test_masters_of_a_file_of_the_same_package() -> None:
    text = """
    import torch
    from .masters import model_grads_to_master_grads
    class Run:
        def __init__(self, model, optimizer, use_fp16=False):
            self.model, self.optimizer, self.use_fp16 = model, optimizer, use_fp16
            self.lg_loss_scale = 20.0
        def run(self, loader):
            for x in loader:
                loss = self.model(x)
                if self.use_fp16:
                    (loss * 2 ** self.lg_loss_scale).backward()
                    self.update()
                else:
                    loss.backward()
                    self.optimizer.step()
        def update(self):
            model_grads_to_master_grads(self.model.parameters(), self.masters)
            self.optimizer.step()
            self.lg_loss_scale += 0.001
    """
    found = read_by(py_manual_fp16.READER, text)
    assert found["precision.dtypes"] == ("float16",)
    assert found["loss_scaling.mode"] == "dynamic"


def test_a_switch_handed_on_beside_a_wrapped_scaler() -> None:
    text = ARGS.replace("default=True", "default=False")
    text += (
        "from utils import NativeScaler\nfrom engine import train\nloss_scaler = NativeScaler()\n"
    )
    found = read_by(py_torch_amp.READER, text + "train(model, loss_scaler, use_amp=args.half)\n")
    assert (found["precision.enabled"], found["precision.compute_dtype"]) == ("flag", "float32")
    found = read_by(py_torch_amp.READER, text + "train(model, loss_scaler)\n")
    assert found["precision.enabled"] == "always"


def test_a_class_over_data_parallel() -> None:
    text = """
    import torch
    class Spread(torch.nn.DataParallel):
        pass
    class Plain(torch.nn.Module):
        pass
    net = {made}(net)
    """
    text = textwrap.dedent(text) + STEP
    found = read_by(py_torch_parallel.READER, text.replace("{made}", "Spread"))
    assert found["parallel.kind"] == ("dp",)
    assert "parallel.kind" not in read_by(py_torch_parallel.READER, text.replace("{made}", "Plain"))


@pytest.mark.parametrize(
    ("divide", "word"),
    [
        ("loss.div_(math.ceil(float(len(x)) / args.batch_size))", "yes"),
        ("loss = loss / (args.batch_size / part.shape[0])", "yes"),
        ("loss = loss / args.temperature", "no"),
        ("part.div_(255)", "no"),
    ],
)
def test_a_division_by_the_parts_of_a_batch(divide: str, word: str) -> None:
    text = f"""
    import math
    import torch
    for x, y in loader:
        optimizer.zero_grad()
        for i in range(0, len(x), args.batch_size):
            part = x[i:i + args.batch_size]
            loss = criterion(model(part), y[i:i + args.batch_size])
            {divide}
            loss.backward()
        optimizer.step()
    """
    found = read_by(py_accumulation.READER, text)
    assert found["accumulation.loss_divided"] == word


def test_the_kind_of_clipping_of_another_file() -> None:
    text = """
    import torch
    import tools
    for x in loader:
        loss = model(x)
        loss.backward()
        tools.clip_gradients(model, 3.0)
        optimizer.step()
        optimizer.zero_grad()
    """
    program, _ = read_program([Source("train.py", textwrap.dedent(text))])
    (step,) = training_steps(program)
    assert [event.detail["kind"].value for event in step.of("clip")] == ["elsewhere"]  # type: ignore[union-attr]


def test_the_optimizer_of_a_fabric_in_a_dictionary() -> None:
    text = """
    import lightning
    fabric = lightning.Fabric()
    optimizer = fabric.setup_optimizers(make())
    state = {"optimizer": optimizer}
    def fit(state):
        optimizer = state["optimizer"]
        for x in loader:
            fabric.backward(model(x))
            optimizer.step()
            optimizer.zero_grad()
    fit(state)
    """
    program, _ = read_program([Source("train.py", textwrap.dedent(text))])
    assert any(step.of("step") for step in training_steps(program))


def test_a_branch_that_only_predicts() -> None:
    text = """
    import tensorflow as tf
    import updates
    def model_fn(features, labels, mode, params):
        if mode == tf.estimator.ModeKeys.TRAIN:
            op = updates.create_optimizer(loss, rate, params.amp, params.num_accumulation_steps)
        elif mode == tf.estimator.ModeKeys.PREDICT:
            scale = tf.train.experimental.FixedLossScale(1)
            rewrite = tf.train.experimental.enable_mixed_precision_graph_rewrite
            rewrite(updates.LAMBOptimizer(0.0), scale)
    """
    found = values_of(text)
    assert found["loss_scaling.mode"] == "elsewhere"
    assert found["precision.enabled"] == "config"
    assert found["accumulation.present"] == "yes"


def test_a_wrapped_optimizer_whose_policy_is_elsewhere() -> None:
    text = """
    import tensorflow as tf
    optimizer = tf.keras.optimizers.Adam(1e-3)
    if params.use_amp:
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
    """
    found = values_of(text)
    assert (found["precision.enabled"], found["precision.dtypes"]) == ("config", ("float16",))
    always = "\n".join(line.replace("        opt", "    opt") for line in text.splitlines()
                       if "if params" not in line)  # fmt: skip
    assert "precision.enabled" not in values_of(always)


def mm(text: str) -> dict[str, Any]:
    program, _ = read_program([Source("config.py", textwrap.dedent(text))])
    return {f"{f.field} {f.subject}".strip(): shown(f) for f in py_mmengine.READER.read(program)}


def test_optimizers_of_several_parts() -> None:
    found = mm("""
    _base_ = ['./model.py']
    optimizer = dict(
        generator=dict(type='Adam', lr=0.0002, betas=(0.5, 0.99)),
        discriminator=dict(type='Adam', lr=0.0004, betas=(0.5, 0.99)))
    lr_config = dict(policy='Linear', by_epoch=False, target_lr=0)
    total_iters = 100
    """)
    assert found["optimizer.learning_rate generator"] == 0.0002
    assert found["optimizer.learning_rate discriminator"] == 0.0004
    assert found["optimizer.role generator"] == "generator"
    assert found["schedule.name"] == "linear"


def test_a_configuration_that_only_changes_the_model() -> None:
    text = "_base_ = ['../schedules/long.py', '../runtime.py']\nmodel = dict(head=dict(n=9))\n"
    found = mm(text)
    assert found["precision.enabled"] == found["schedule.name"] == "inherit"
    assert "schedule.name" not in mm(text.replace("schedules", "plans"))
    assert mm("_base_ = ['../a.py']\nwords = 3\n") == {}


def test_the_usual_flags_of_a_script_that_is_not_read() -> None:
    flags = "--learning_rate 3e-4 --gradient_accumulation_steps 3 --train_steps 9 --seed 4"
    found = {f.field: shown(f) for f in shell(f"torchrun t.py {flags} --weight_decay 0.1").facts}
    assert found["accumulation.steps"] == 3
    assert (found["optimizer.learning_rate"], found["optimizer.weight_decay"]) == (3e-4, 0.1)
    assert "precision.enabled" not in found
    few = {f.field for f in shell("torchrun t.py --learning_rate 3e-4").facts}
    assert "optimizer.learning_rate" not in few


def test_a_paddle_launch_with_dashes() -> None:
    text = "python -m paddle.distributed.launch --gpus=0,1 t.py --amp --scale-loss 128 "
    found = {f.field: shown(f) for f in shell(text + "--use-dynamic-loss-scaling").facts}
    assert found["precision.enabled"] == "always"
    assert (found["loss_scaling.mode"], found["loss_scaling.init_scale"]) == ("dynamic", 128)
