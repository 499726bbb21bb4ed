"""Paddle programs that leave something to objects of other files, and what they still show."""

from __future__ import annotations

from typing import Any

import pytest

from program_facts import values_of

UNSEEN = """
# distributed under some licence
import paddle


def train(engine, rows):
    for step, (x, y) in enumerate(rows):
        with engine.auto_cast(is_eval=False):
            loss = engine.loss(engine.model(x), y)
        scaled = engine.scaler.scale(loss)
        scaled.backward()
        for i in range(len(engine.optimizer)):
            engine.scaler.step(engine.optimizer[i])
            engine.scaler.update()
        for i in range(len(engine.lr_sch)):
            engine.lr_sch[i].step()
"""


def test_objects_of_the_caller() -> None:
    found = values_of(UNSEEN)
    assert found["precision.enabled"] == "caller"
    assert found["loss_scaling.mode"] == "elsewhere"
    assert found["clipping.kind"] == "elsewhere"
    assert found["schedule.name"] == "elsewhere"
    assert found["parallel.kind"] == ("caller",)


SEEN = [
    ("clipping.kind", "engine.optimizer[i]", "optimizer"),
    ("clipping.kind", "scaled.backward()", "scaled.backward(); clip_grads(engine.model)"),
    ("precision.enabled", "engine.auto_cast(is_eval=False)", "engine.timer()"),
    ("loss_scaling.mode", "engine.scaler.scale(loss)", "engine.images.scale(loss)"),
    ("clipping.kind", "scaled.backward()", "engine.run(scaled)"),
    ("parallel.kind", "engine.model(x)", "net(x)"),
    ("parallel.kind", "import paddle", "import paddle\npaddle.distributed.init_parallel_env()"),
    ("parallel.kind", "def train(engine, rows)", "engine = Engine()\ndef train(rows)"),
]


@pytest.mark.parametrize(("field", "old", "new"), SEEN)
def test_what_is_not_left_to_the_caller(field: str, old: str, new: str) -> None:
    assert old in UNSEEN
    made = "optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())\n\n\ndef train"
    text = UNSEEN.replace(old, new)
    if new == "optimizer":
        text = text.replace("def train", made, 1)
    assert values_of(text).get(field) in (None, "never")


IDLE = """
import paddle

optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
for x, y in rows:
    loss = paddle.nn.functional.mse_loss(model(x), y)
    scaled = scaler.scale(loss)
    print(scaled)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_a_scaler_that_nothing_uses() -> None:
    assert values_of(IDLE)["loss_scaling.mode"] == "none"
    assert values_of(IDLE.replace("loss.backward", "scaled.backward"))["loss_scaling.mode"] == (
        "dynamic"
    )
    assert values_of(IDLE.replace("print(scaled)", "keep(scaler)"))["loss_scaling.mode"] == (
        "dynamic"
    )


HALF = """
import paddle
from paddlenlp.transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(name, dtype="bfloat16")
optimizer = paddle.optimizer.AdamW(1e-5, parameters=model.parameters())
for rows in loader:
    loss = model(**rows)[0]
    loss.backward()
    optimizer.step()
"""


def test_a_model_that_is_loaded_with_half_weights() -> None:
    found = values_of(HALF)
    assert found["precision.dtypes"] == ("bfloat16",)
    assert found["precision.mode"] == "full"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('dtype="bfloat16"', 'dtype="float32"'),
        ("loss.backward()", "scores.append(loss)"),
        ("from paddlenlp.transformers", "from models"),
    ],
)
def test_a_model_with_whole_weights(old: str, new: str) -> None:
    assert "precision.dtypes" not in values_of(HALF.replace(old, new))


RATE = """
import paddle


class Learner:
    def __init__(self, model):
        self.optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())

    def learn(self, x, rate=None):
        loss = self.model(x)
        {change}
        loss.backward()
        self.optimizer.step()
"""
CHANGES: list[tuple[str, Any]] = [
    ("self.optimizer.set_lr(rate)", "caller"),
    ("new = self.course.update(x); self.optimizer.set_lr(new)", "elsewhere"),
    ("self.optimizer.set_lr(0.1)", None),
    ("self.screen.set_lr(rate)", None),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_a_rate_that_is_set(change: str, expected: Any) -> None:
    assert values_of(RATE.format(change=change)).get("schedule.name") == expected


NAMED = [
    ("getattr(paddle.optimizer, config.kind)", "selectable"),
    ('getattr(paddle.optimizer, "AdamW")', "adamw"),
    ('getattr(paddle.nn, "AdamW")', None),
]


@pytest.mark.parametrize(("maker", "family"), NAMED)
def test_optimizers_by_name(maker: str, family: str | None) -> None:
    text = f"import paddle\noptimizer = {maker}(learning_rate=0.1, parameters=model.parameters())"
    assert values_of(text).get("optimizer.name") == family


def test_a_schedule_behind_a_condition_of_paddlenlp() -> None:
    text = """
        import paddle
        from paddlenlp.transformers import LinearAnnealingWithWarmupDecay
        rate = LinearAnnealingWithWarmupDecay(1e-4, 1e-5, warmup_step=10, decay_step=100)
        optimizer = paddle.optimizer.AdamW(learning_rate=rate if rate is not None else 1e-4)
    """
    found = values_of(text)
    assert (found["schedule.name"], found["schedule.has_warmup"]) == ("linear", "yes")
    assert found["optimizer.learning_rate"] == 1e-4
    assert found["schedule.warmup"] == "10"


def test_a_choice_of_two_classes() -> None:
    text = """
        import paddle
        kind = paddle.optimizer.AdamW if args.decay else paddle.optimizer.Adam
        optimizer = kind(learning_rate=0.1, parameters=model.parameters())
    """
    found = values_of(text)
    assert sorted(v for k, v in found.items() if k.startswith("optimizer.name")) == [
        "adam",
        "adamw",
    ]
    one = text.replace(" if args.decay else paddle.optimizer.Adam", "")
    assert values_of(one)["optimizer.name"] == "adamw"


SWITCHED = [
    ("model.set_recompute(args.recompute)", "flag"),
    ("model.set_recompute(True)", "yes"),
    ("model.set_recompute(False)", None),
    ("model.enable_recompute()", "yes"),
    ("model.set_window(True)", None),
]


@pytest.mark.parametrize(("call", "expected"), SWITCHED)
def test_recomputing_by_a_method(call: str, expected: str | None) -> None:
    found = values_of(f"import paddle\n# recompute\n{call}\n")
    assert found.get("activation_checkpointing") == expected


def test_recomputing_and_devices_of_static_programs() -> None:
    text = """
        import paddle.fluid as fluid
        optimizer = fluid.optimizer.RecomputeOptimizer(fluid.optimizer.Adam(0.1))
        optimizer.minimize(loss)
        training = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name)
    """
    found = values_of(text)
    assert found["activation_checkpointing"] == "yes"
    assert found["parallel.kind"] == ("paddle_dp",)
    shared = text.replace("loss_name=loss.name", "share_vars_from=other")
    assert "parallel.kind" not in values_of(shared)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("use_cuda=True, loss_name=loss.name", ("paddle_dp",)),
        ("True, loss.name, main", ("paddle_dp",)),
        ("use_cuda=True, main_program=test, share_vars_from=training", None),
        ("True", None),
    ],
)
def test_parallel_executors(given: str, kind: tuple[str] | None) -> None:
    text = f"""
        import paddle.fluid as fluid
        fluid.optimizer.Adam(0.1).minimize(loss)
        training = fluid.ParallelExecutor({given})
    """
    assert values_of(text).get("parallel.kind") == kind
    spread = f"{text}    fluid.DistributeTranspiler().transpile(0)\n"
    assert values_of(spread)["parallel.kind"] == ("paddle_transpiler",)


SCRIPT = """
import paddle

def with_momentum(model):
    return paddle.optimizer.Momentum(0.1, parameters=model.parameters())

def with_adam(model):
    return paddle.optimizer.Adam(1e-3, parameters=model.parameters())

def main(model):
    # optimizer = with_momentum(model)
    optimizer = with_adam(model)

if __name__ == "__main__":
    main(build())
"""


def test_makers_of_optimizers_that_a_script_does_not_call() -> None:
    assert values_of(SCRIPT)["optimizer.name"] == "adam"
    names = {
        value for key, value in values_of(SCRIPT.replace("# o", "o")).items() if ".name" in key
    }
    assert names == {"momentum", "adam"} or names == {"sgd", "adam"}
    module = SCRIPT[: SCRIPT.index("if __name__")]
    assert len([key for key in values_of(module) if key.startswith("optimizer.name")]) == 2
    unused = SCRIPT.replace("    optimizer = with_adam(model)", "    pass")
    assert len([key for key in values_of(unused) if key.startswith("optimizer.name")]) == 2
