"""Events come in the order of execution, with what they are about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast_reading.trainstep.events import TrainingStep

Loop = Callable[..., TrainingStep]
Kinds = Callable[..., list[str]]


def value_of(value: object) -> object:
    """Return what is known of a value."""
    return getattr(value, "value", None)


def flag_of(value: object) -> object:
    """Return the flag behind a value."""
    return getattr(value, "flag", None)


PLAIN = """
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
    sched.step()
"""
AMP = """
for x, y in loader:
    opt.zero_grad(set_to_none=True)
    with autocast():
        loss = loss_fn(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
    scaler.step(opt)
    scaler.update()
    sched.step()
"""


def test_a_plain_loop(loop: Loop, kinds: Kinds) -> None:
    step = loop(PLAIN)
    assert kinds(step) == ["zero_grad", "forward", "backward", "step", "schedule"]
    assert not step.windowed
    assert step.loop is not None
    assert step.loop.role == "batch"
    assert [e.kind for e in step.around("schedule")] == ["schedule"]
    assert [loop.role for loop in step.of("backward")[0].loops] == ["epoch", "batch"]


def test_a_loop_with_a_scaler(loop: Loop, kinds: Kinds) -> None:
    step = loop(AMP)
    wanted = "zero_grad forward backward unscale clip step update_scale schedule"
    assert kinds(step) == wanted.split()
    (backward,) = step.of("backward")
    assert (backward.scaler, backward.subject) == ("scaler", "loss")
    (clip,) = step.of("clip")
    assert flag_of(clip.detail["max"]) == "args.clip"
    assert value_of(clip.detail["max"]) == 1.0
    (update,) = step.of("step")
    assert (update.subject, update.scaler) == ("opt", "scaler")
    assert step.of("forward")[0].context("autocast") is not None
    assert backward.context("autocast") is None


@pytest.mark.parametrize(
    ("text", "library", "scaler"),
    [
        ("loss.backward()", "", ""),
        ("loss.mean().backward()", "", ""),
        ("scaler.scale(loss).backward()", "", "scaler"),
        ("scaled = scaler.scale(loss)\n    scaled.backward()", "", "scaler"),
        ("torch.autograd.backward(loss)", "", ""),
        ("torch.autograd.backward(scaler.scale(loss))", "", "scaler"),
        ("accelerator.backward(loss)", "accelerate", ""),
        ("fabric.backward(loss)", "lightning_fabric", ""),
        ("model_engine.backward(loss)", "deepspeed", ""),
        ("optimizer.backward(loss)", "fp16_optimizer", ""),
        ("self.manual_backward(loss)", "lightning", ""),
        (
            "with amp.scale_loss(loss, opt) as scaled_loss:\n        scaled_loss.backward()",
            "apex",
            "amp",
        ),
    ],
)
def test_forms_of_backward(loop: Loop, text: str, library: str, scaler: str) -> None:
    step = loop(f"for x in loader:\n    loss = model(x)\n    {text}\n    opt.step()\n")
    (backward,) = step.of("backward")
    assert (backward.library, backward.scaler) == (library, scaler)
    if library not in ("deepspeed", "fp16_optimizer", "apex"):
        assert backward.subject.startswith(("loss", "scaled"))


@pytest.mark.parametrize(
    "text",
    [
        "opt.zero_grad()",
        "model.zero_grad(set_to_none=True)",
        "opt.clear_grad()",
        "model.clear_gradients()",
        "for p in model.parameters():\n        p.grad = None",
        "for p in model.parameters():\n        p.grad.zero_()",
        "for p in model.parameters():\n        p.grad.data.zero_()",
    ],
)
def test_forms_of_clearing(loop: Loop, kinds: Kinds, text: str) -> None:
    step = loop(f"for x in loader:\n    {text}\n    model(x).backward()\n    opt.step()\n")
    assert kinds(step) == ["zero_grad", "forward", "backward", "step"]


@pytest.mark.parametrize(
    ("text", "kind", "limit"),
    [
        ("torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)", "global_norm", 2.0),
        ("torch.nn.utils.clip_grad_norm(model.parameters(), max_norm=2.0)", "global_norm", 2.0),
        ("torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=2.0)", "value", 2.0),
        ("accelerator.clip_grad_norm_(model.parameters(), 2.0)", "global_norm", 2.0),
        ("fabric.clip_gradients(model, opt, max_norm=2.0)", "global_norm", 2.0),
        ("fabric.clip_gradients(model, opt, clip_val=2.0)", "value", 2.0),
        ("model.clip_grad_norm_(2.0)", "global_norm", 2.0),
        ("for p in ps:\n        p.grad.clamp_(-2.0, 2.0)", "value", 2.0),
        ("for p in ps:\n        p.grad.data.clamp_(min=-2.0, max=2.0)", "value", 2.0),
        ("my_clip_grads(model.parameters(), 2.0)", "", 2.0),
    ],
)
def test_forms_of_clipping(loop: Loop, text: str, kind: str, limit: float) -> None:
    step = loop(f"for x in loader:\n    model(x).backward()\n    {text}\n    opt.step()\n")
    (clip,) = step.of("clip")
    assert getattr(clip.detail.get("kind"), "value", "") == kind
    assert value_of(clip.detail["max"]) == limit


def test_apex_unscales_when_its_block_is_left(loop: Loop, kinds: Kinds) -> None:
    step = loop("""
        from apex import amp
        for x in loader:
            loss = model(x)
            with amp.scale_loss(loss, opt) as scaled_loss:
                scaled_loss.backward()
            torch.nn.utils.clip_grad_norm_(amp.master_params(opt), 1.0)
            opt.step()
            opt.zero_grad()
        """)
    assert kinds(step) == ["forward", "backward", "unscale", "clip", "step", "zero_grad"]
    assert "masters" in step.of("clip")[0].detail
    assert step.of("unscale")[0].library == "apex"
    assert step.of("backward")[0].context("scale_loss") is not None


def test_a_closure_runs_before_the_step(loop: Loop, kinds: Kinds) -> None:
    step = loop("""
        for x, y in loader:
            def closure():
                opt.zero_grad()
                loss = loss_fn(model(x), y)
                loss.backward()
                return loss
            opt.step(closure)
        """)
    assert kinds(step) == ["zero_grad", "forward", "backward", "step"]


def test_what_paddle_minimizes(loop: Loop, kinds: Kinds) -> None:
    step = loop(
        """
        import paddle
        scaler = paddle.amp.GradScaler()
        for x in loader:
            with paddle.amp.auto_cast():
                loss = model(x)
            scaled = scaler.scale(loss)
            scaled.backward()
            scaler.minimize(optimizer, scaled)
            optimizer.clear_grad()
        """,
        head="",
    )
    wanted = "forward backward unscale step update_scale zero_grad"
    assert kinds(step) == wanted.split()
    assert step.of("step")[0].library == "paddle"


def test_a_static_graph(loop: Loop) -> None:
    step = loop(
        """
        import paddle.fluid as fluid
        def build(loss, lr):
            optimizer = fluid.optimizer.Adam(lr)
            optimizer.minimize(loss)
        """,
        head="",
    )
    assert [e.kind for e in step.events] == ["backward", "step"]
    assert {e.library for e in step.events} == {"paddle_static"}


def test_a_tape(loop: Loop, kinds: Kinds) -> None:
    step = loop(
        """
        import tensorflow as tf
        opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
                scaled = opt.get_scaled_loss(loss)
            grads = tape.gradient(scaled, model.trainable_variables)
            grads = opt.get_unscaled_gradients(grads)
            grads, _ = tf.clip_by_global_norm(grads, 1.0)
            opt.apply_gradients(zip(grads, model.trainable_variables))
        for x, y in data:
            train_step(x, y)
        """,
        head="",
    )
    assert kinds(step) == ["forward", "backward", "unscale", "clip", "step"]
    assert step.of("backward")[0].scaler == "opt"
    assert step.of("forward")[0].context("tape") is not None


def test_jax(loop: Loop, kinds: Kinds) -> None:
    step = loop(
        """
        import jax
        def train_step(state, batch):
            loss, grads = jax.value_and_grad(loss_fn)(state.params, batch)
            return state.apply_gradients(grads=grads)
        for batch in data:
            state = train_step(state, batch)
        """,
        head="",
    )
    assert kinds(step) == ["backward", "step"]
    assert {e.library for e in step.events} == {"jax"}


def test_an_engine_counts_by_itself(loop: Loop) -> None:
    step = loop(
        """
        import deepspeed
        engine, _, _, _ = deepspeed.initialize(model=model, config="ds.json")
        for batch in loader:
            loss = engine(batch)
            engine.backward(loss)
            engine.step()
        """,
        head="",
    )
    assert not step.by_hand
    assert not step.windowed
    assert step.of("step")[0].library == "deepspeed"


def test_averages_samplers_and_sums(loop: Loop) -> None:
    step = loop("""
        ema = torch.optim.swa_utils.AveragedModel(model)
        total = 0
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for x in loader:
                opt.zero_grad()
                loss = model(x)
                loss.backward()
                opt.step()
                ema.update_parameters(model)
                total += loss
                mean += loss.item()
                kept.append(loss.detach())
        """)
    assert len(step.of("average_weights")) == 1
    assert len(step.around("set_epoch")) == 1
    sums = {e.subject: value_of(e.detail["detached"]) for e in step.of("sum_loss")}
    assert sums == {"total": False, "mean": True, "kept": True}


def test_reading_averages_is_not_averaging(loop: Loop) -> None:
    step = loop("""
        def ema_arrays(averages):
            return {name: average.cpu() for name, average in averages.items()}

        for x in loader:
            opt.zero_grad()
            model(x).backward()
            opt.step()
            save(ema_arrays(averages))
        """)
    assert step.of("average_weights") == ()


def test_a_sum_that_is_differentiated_is_no_running_sum(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            total = 0
            for head in heads:
                total += loss_fn(head(x))
            total.backward()
            opt.step()
            opt.zero_grad()
        """)
    assert not step.of("sum_loss")


def test_what_is_made_within_the_loop(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            scaler = GradScaler()
            with autocast():
                loss = model(x)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
        """)
    (made,) = step.of("make")
    assert value_of(made.detail["kind"]) == "scaler"
