"""Paddle programs: dynamic and static graphs, fleet, optimizers of every generation."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from program_facts import values_of

LOOP = """
import paddle

optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
scaler = paddle.amp.GradScaler({scaler})
for batch in loader:
    with paddle.amp.auto_cast({cast}):
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
"""


def loop(cast: str = "", scaler: str = "") -> dict[str, Any]:
    return values_of(LOOP.format(cast=cast, scaler=scaler))


def test_mixed_precision_of_dynamic_graphs() -> None:
    found = loop()
    assert found["framework"] == "paddle"
    assert found["api"] == ("paddle_dygraph_amp",)
    assert found["precision.enabled"] == "always"
    assert found["precision.dtypes"] == ("float16",)
    assert found["precision.mode"] == "mixed"
    assert found["loss_scaling.mode"] == "framework_default"


CASTS = [
    ("dtype='bfloat16'", {"precision.dtypes": ("bfloat16",)}),
    ("level='O2'", {"precision.mode": "full", "precision.level": "O2"}),
    ("enable=args.amp", {"precision.enabled": "flag", "precision.compute_dtype": "float32"}),
    ("enable=config.AMP", {"precision.enabled": "config"}),
    ("True, level='O1'", {"precision.enabled": "always", "precision.mode": "mixed"}),
]


@pytest.mark.parametrize(("cast", "expected"), CASTS)
def test_arguments_of_auto_cast(cast: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= loop(cast).items()


def test_a_region_that_is_switched_off_asks_for_nothing() -> None:
    found = loop("enable=False")
    assert "precision.dtypes" not in found


NAMED_LIKE_PYTORCH = [
    ("paddle.cuda.amp.autocast()", "float16"),
    ("paddle.cuda.amp.autocast(True, 'bfloat16')", "bfloat16"),
    ("paddle.amp.autocast('gpu', 'bfloat16')", "bfloat16"),
    ("paddle.autocast('gpu')", "float16"),
]


@pytest.mark.parametrize(("region", "dtype"), NAMED_LIKE_PYTORCH)
def test_regions_with_the_names_of_pytorch(region: str, dtype: str) -> None:
    found = values_of(LOOP.format(cast="", scaler="").replace("paddle.amp.auto_cast()", region))
    assert found["precision.dtypes"] == (dtype,)
    assert found["precision.enabled"] == "always"


@pytest.mark.parametrize(
    "region", ["paddle.cuda.amp.autocast(False)", "paddle.autocast('gpu', enabled=False)"]
)
def test_regions_with_the_names_of_pytorch_that_are_off(region: str) -> None:
    found = values_of(LOOP.format(cast="", scaler="").replace("paddle.amp.auto_cast()", region))
    assert "precision.dtypes" not in found


SCALERS = [
    ("init_loss_scaling=1024", {"loss_scaling.mode": "dynamic", "loss_scaling.init_scale": 1024}),
    (
        "init_loss_scaling=128, use_dynamic_loss_scaling=False",
        {"loss_scaling.mode": "static", "loss_scaling.scale": 128},
    ),
    (
        "incr_every_n_steps=100, decr_every_n_nan_or_inf=2, incr_ratio=4.0, decr_ratio=0.8",
        {
            "loss_scaling.growth_interval": 100,
            "loss_scaling.hysteresis": 2,
            "loss_scaling.growth_factor": 4.0,
            "loss_scaling.backoff_factor": 0.8,
        },
    ),
    ("use_dynamic_loss_scaling=args.dynamic", {"loss_scaling.mode": "selectable"}),
]


@pytest.mark.parametrize(("scaler", "expected"), SCALERS)
def test_arguments_of_scalers(scaler: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= loop(scaler=scaler).items()


def test_a_scaler_that_is_switched_off_scales_nothing() -> None:
    assert "loss_scaling.mode" not in loop(scaler="enable=False, init_loss_scaling=2.0")


def test_the_scaler_of_fluid() -> None:
    text = """
        import paddle.fluid as fluid
        with fluid.dygraph.guard():
            scaler = fluid.dygraph.AmpScaler(init_loss_scaling=1024)
            with fluid.dygraph.amp_guard(True):
                loss = model(x)
    """
    found = values_of(text)
    assert found["loss_scaling.init_scale"] == 1024
    assert found["loss_scaling.api"] == "paddle.amp.AmpScaler"
    assert found["precision.dtypes"] == ("float16",)
    assert "zero_grad.where" not in found


STATIC = """
import paddle
import paddle.fluid as fluid

optimizer = fluid.optimizer.Momentum(learning_rate=0.1, momentum=0.9,
                                     regularization=fluid.regularizer.L2Decay(1e-4))
{decorate}
optimizer.minimize(loss)
exe = fluid.Executor(place)
"""
DECORATED = [
    (
        "optimizer = fluid.contrib.mixed_precision.decorate(optimizer)",
        {
            "loss_scaling.mode": "framework_default",
            "loss_scaling.api": "paddle.fluid.contrib.mixed_precision.decorate",
        },
    ),
    (
        "optimizer = paddle.static.amp.decorate(optimizer, init_loss_scaling=64.0, "
        "use_dynamic_loss_scaling=True)",
        {"loss_scaling.mode": "dynamic", "loss_scaling.init_scale": 64.0},
    ),
    (
        "optimizer = fluid.contrib.mixed_precision.decorate(optimizer, init_loss_scaling=8.0, "
        "use_dynamic_loss_scaling=False)",
        {"loss_scaling.mode": "static", "loss_scaling.scale": 8.0},
    ),
    (
        "optimizer = paddle.static.amp.decorate(optimizer, use_pure_fp16=True)",
        {"precision.mode": "full", "loss_scaling.api": "paddle.static.amp.decorate (FP16_ONLY)"},
    ),
]


def test_the_usual_scalers_are_not_named() -> None:
    assert "loss_scaling.api" not in loop(scaler="init_loss_scaling=8.0")
    for given in ("", ", level='O1'", ", dtype='float16'"):
        decorate = f"optimizer = paddle.static.amp.decorate(optimizer{given})"
        assert "loss_scaling.api" not in values_of(STATIC.format(decorate=decorate))


@pytest.mark.parametrize(("decorate", "expected"), DECORATED)
def test_decorated_optimizers_of_static_graphs(decorate: str, expected: dict[str, Any]) -> None:
    found = values_of(STATIC.format(decorate=decorate))
    assert found["api"] == ("paddle_static_decorate",)
    assert found["precision.dtypes"] == ("float16",)
    assert found["zero_grad.where"] == "static_graph"
    assert found["scaler_update.status"] == "library"
    assert expected.items() <= found.items()


def test_a_static_graph_in_float32() -> None:
    found = values_of(
        STATIC.format(decorate="# optimizer = fluid.contrib.mixed_precision.decorate(o)")
    )
    assert not [key for key in found if key.startswith(("precision", "loss_scaling", "api"))]
    assert found["optimizer.l2"] == 1e-4
    assert found["optimizer.momentum"] == 0.9


MASTERS = """
import paddle.fluid as fluid
from ours.half import create_master_params_grads, apply_dynamic_loss_scaling

def optimization(loss, program, startup, use_fp16=False, use_dynamic_loss_scaling=False,
                 init_loss_scaling=1.0, incr_every_n_steps=1000):
    optimizer = fluid.optimizer.Adam(learning_rate=1e-4)
    fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=1.0))
    scale = fluid.layers.create_global_var(shape=[1], value=init_loss_scaling, dtype="float32")
    if use_fp16:
        loss *= scale
        pairs = optimizer.backward(loss)
        masters = create_master_params_grads(pairs, program, startup, scale)
        if use_dynamic_loss_scaling:
            apply_dynamic_loss_scaling(scale, masters, incr_every_n_steps, 2, 2.0, 0.8)
        optimizer.apply_gradients(masters)
    else:
        optimizer.minimize(loss)
"""


def test_masters_of_a_programs_own() -> None:
    found = values_of(MASTERS)
    assert found["api"] == ("paddle_static_custom",)
    assert found["precision.enabled"] == "caller"
    assert found["precision.compute_dtype"] == "float32"
    assert found["precision.mode"] == "full"
    assert found["loss_scaling.mode"] == "selectable"
    assert found["loss_scaling.init_scale"] == 1.0
    assert found["loss_scaling.growth_interval"] == 1000
    assert found["loss_scaling.min_scale"] == 1.0
    assert found["scaler_update.status"] == "custom"
    assert found["clipping.unscaled_first"] == "yes"


CALLER = """
import argparse
import paddle.fluid as fluid
from ours.optimization import optimization

parser = argparse.ArgumentParser()
parser.add_argument("--use_fp16", action="store_true")
args = parser.parse_args()
optimization(loss, warmup_steps=100, learning_rate=1e-4, use_fp16=args.use_fp16,
             loss_scaling=128.0, scheduler="linear_warmup_decay")
"""


def test_a_script_that_hands_its_flags_to_such_code() -> None:
    found = values_of(CALLER)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"
    assert found["loss_scaling.mode"] == "static"
    assert found["loss_scaling.scale"] == 128.0
    assert found["schedule.name"] == "linear"
    assert found["schedule.warmup"] == "100"


def test_what_the_launch_command_rules_out_is_no_fact() -> None:
    flag = Fact(field="command.flag", expression="--use_fp16", value="false")
    text = CALLER.replace('action="store_true"', "type=parse, default=True")
    found = values_of(text, launch=Command(program="train.py", flags=(flag,)))
    assert "loss_scaling.mode" not in found or found["precision.enabled"] == "flag"


FLEET = """
import paddle
from paddle.distributed import fleet

strategy = fleet.DistributedStrategy()
{settings}
optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy=strategy)
optimizer.minimize(loss)
"""
SETTINGS = [
    (
        "strategy.amp = True\nstrategy.amp_configs = {'init_loss_scaling': 256, 'decr_ratio': 0.5}",
        {
            "precision.dtypes": ("float16",),
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init_scale": 256,
            "loss_scaling.backoff_factor": 0.5,
        },
    ),
    ("strategy.amp = True", {"loss_scaling.mode": "framework_default"}),
    (
        "strategy.gradient_merge = True\n"
        "strategy.gradient_merge_configs = {'k_steps': 4, 'avg': True}",
        {
            "accumulation.present": "yes",
            "accumulation.steps": 4,
            "accumulation.loss_divided": "yes",
            "accumulation.tail": "carried_over",
        },
    ),
    ("strategy.recompute = True", {"activation_checkpointing": "yes"}),
    (
        "strategy.hybrid_configs = {'dp_degree': 2, 'mp_degree': 4}",
        {"parallel.kind": ("fleet_hybrid", "fleet")},
    ),
]


@pytest.mark.parametrize(("settings", "expected"), SETTINGS)
def test_strategies_of_fleet(settings: str, expected: dict[str, Any]) -> None:
    found = values_of(FLEET.format(settings=settings))
    assert found["api"] == ("paddle_fleet",) or "hybrid" in settings or "recompute" in settings
    assert expected.items() <= found.items()


@pytest.mark.parametrize(
    "settings",
    [
        "strategy.amp = False\nstrategy.gradient_merge = False\nstrategy.recompute = False",
        "# strategy.amp = True",
        "strategy.hybrid_configs = {'dp_degree': 8, 'mp_degree': 1}",
    ],
)
def test_strategies_that_ask_for_nothing(settings: str) -> None:
    found = values_of(FLEET.format(settings=settings))
    wanted = ("precision", "loss_scaling", "accumulation", "activation_checkpointing")
    assert not [key for key in found if key.startswith(wanted)]
    assert found["parallel.kind"] == ("fleet",)


KINDS = [
    ("model = paddle.DataParallel(model)", "paddle_dp"),
    ("t = paddle.fluid.DistributeTranspiler()", "paddle_transpiler"),
    ("model = paddle.distributed.fleet.distributed_model(model)", "fleet"),
    ("paddle.distributed.fleet.init(is_collective=True)", "fleet"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_how_work_is_spread(text: str, kind: str) -> None:
    assert values_of(f"import paddle\n{text}")["parallel.kind"] == (kind,)


OPTIMIZERS = [
    ("paddle.optimizer.Adam(0.1, beta1=0.8)", "adam", {"optimizer.betas.0": 0.8}),
    ("paddle.optimizer.Adam(0.1, weight_decay=0.02)", "adam", {"optimizer.l2": 0.02}),
    ("paddle.optimizer.AdamW(0.1, weight_decay=0.02)", "adamw", {"optimizer.weight_decay": 0.02}),
    (
        "paddle.optimizer.Lamb(0.1, lamb_weight_decay=0.02)",
        "lamb",
        {"optimizer.weight_decay": 0.02},
    ),
    ("paddle.fluid.optimizer.SGD(learning_rate=0.1)", "sgd", {"optimizer.learning_rate": 0.1}),
    (
        "paddle.optimizer.AdamW(0.1, apply_decay_param_fun=lambda n: n in names)",
        "adamw",
        {"optimizer.no_decay": "yes"},
    ),
]


@pytest.mark.parametrize(("call", "family", "rest"), OPTIMIZERS)
def test_optimizers(call: str, family: str, rest: dict[str, Any]) -> None:
    found = values_of(f"import paddle\nopt = {call}")
    assert found["optimizer.name"] == family
    assert rest.items() <= found.items()


CLIPS = [
    ("paddle.nn.ClipGradByGlobalNorm(0.5)", "global_norm"),
    ("paddle.nn.ClipGradByNorm(clip_norm=0.5)", "per_param_norm"),
    ("paddle.nn.ClipGradByValue(max=0.5)", "value"),
    ("paddle.fluid.clip.GradientClipByGlobalNorm(clip_norm=0.5)", "global_norm"),
]


@pytest.mark.parametrize(("call", "kind"), CLIPS)
def test_clips(call: str, kind: str) -> None:
    found = values_of(f"import paddle\nclip = {call}")
    assert found["clipping.kind"] == kind
    assert found["clipping.value"] == 0.5


def test_a_clip_that_is_thrown_away() -> None:
    assert "clipping.kind" not in values_of("import paddle\npaddle.nn.ClipGradByGlobalNorm(0.5)")


SCHEDULES = [
    ("paddle.optimizer.lr.CosineAnnealingDecay(0.1, 100)", "cosine", "no"),
    ("paddle.optimizer.lr.StepDecay(0.1, step_size=30)", "step", "no"),
    ("paddle.optimizer.lr.NoamDecay(512, 4000)", "noam", "yes"),
    (
        "paddle.optimizer.lr.LinearWarmup(paddle.optimizer.lr.PolynomialDecay(0.1, 90, 0), 10, "
        "0, 0.1)",
        "linear",
        "yes",
    ),
    ("paddlenlp.transformers.LinearDecayWithWarmup(0.1, 100, 10)", "linear", "yes"),
    (
        "paddle.optimizer.lr.LambdaDecay(0.1, lambda t: t / warmup if t < warmup "
        "else (total_steps - step) / 10)",
        "linear",
        "yes",
    ),
]


@pytest.mark.parametrize(("rate", "decay", "warm"), SCHEDULES)
def test_schedules(rate: str, decay: str, warm: str) -> None:
    found = values_of(f"import paddle, paddlenlp\nrate = {rate}\nopt = paddle.optimizer.SGD(rate)")
    assert found["schedule.name"] == decay
    assert found["schedule.has_warmup"] == warm


def test_another_framework_is_not_read_as_paddle() -> None:
    text = "import torch\nopt = torch.optim.AdamW(m.parameters(), 1e-3)\nscaler.scale(loss)"
    assert values_of(text) == {}
