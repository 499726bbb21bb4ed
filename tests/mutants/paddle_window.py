"""Bugs in the emitted window, loss and scaler of Paddle."""

from __future__ import annotations

from textwrap import indent

from crosscast.targets.harness import Edit
from mutants.shared_bugs import overflow_dropped
from mutants.spelling import Spellings, runtime, spellings, train

CUTS = "        cuts = range(settings.micro_batch_size"
DIVIDE = "        loss = loss / rows\n"
OWN_MEAN = '        loss = loss / len(batch["labels"])\n'
BACKWARD, PLAIN_BACKWARD = "        scaled_loss.backward()\n", "        loss.backward()\n"
SCALED = "        scaled_loss = state.scaler.scale(loss)\n"
UNSCALE = "    state.scaler.unscale_(state.optimizer)\n"
SEEN = "    # unscale_ has looked for inf and nan; step() does nothing when it found any.\n"
NORM = "    grad_norm = global_norm(model.parameters())\n"
CLIP = """\
    with paddle.no_grad():
        coefficient = paddle.clip(MAX_NORM / (grad_norm + CLIP_EPS), max=1.0)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.multiply_(coefficient)
"""
STEP, PLAIN_STEP = "    state.scaler.step(state.optimizer)\n", "    state.optimizer.step()\n"
SCALE = "    scale = state.scaler.get_init_loss_scaling()  # the current one\n"
UPDATE = "    state.scaler.update()\n"
COUNTED = "    # Not state_dict(), which would wait for the device to copy the scale.\n"
SKIPPED = "    skipped = state.amp and state.scaler._decr_count > 0\n"
ADJUST = """\
    if state.dynamic:
        state.scaler.set_init_loss_scaling(state.loss_scale.adjust(skipped))
"""
AVERAGE = "    update_averages(state)\n"
UPDATES = "    state.updates += not skipped\n"
CLEAR = "    state.optimizer.clear_grad(set_to_zero=False)\n"
REPORT = "        window_loss += loss.detach()\n"
SCALED_WINDOW = (
    UNSCALE
    + SEEN
    + NORM
    + CLIP
    + STEP
    + SCALE
    + UPDATE
    + COUNTED
    + SKIPPED
    + ADJUST
    + f"    if not skipped:\n    {AVERAGE}"
    + UPDATES
    + CLEAR
)
PLAIN_WINDOW = NORM + CLIP + PLAIN_STEP + AVERAGE + "    state.updates += 1\n" + CLEAR
AUTOCAST = 'paddle.amp.auto_cast(state.amp, dtype="float16", level="O1")'
LOSS = '    logits = model(**inputs).astype("float32")\n'
ENTROPY = 'F.cross_entropy(logits, labels, reduction="sum")\n\n\n'
GRADIENTS = "    gradients = [p.grad for p in model.parameters() if p.grad is not None]\n"


def each(change: str) -> str:
    """Return statements that change the gradients of the window."""
    return GRADIENTS + f"    for gradient in gradients:\n        gradient.set_value({change})\n"


def both(before: str, after: str = "") -> tuple[Edit, Edit]:
    """Return the two spellings of statements around the optimizer's step."""
    return train(STEP, before + STEP + after), train(PLAIN_STEP, before + PLAIN_STEP + after)


WINDOW: Spellings = {
    # Sums and steps.
    "no_accum_div": train(DIVIDE, OWN_MEAN),
    "mean_of_means": train(DIVIDE, OWN_MEAN.replace("\n", " / n_micro\n")),
    "tail_div_by_steps": train(DIVIDE, OWN_MEAN.replace("\n", " / SETTINGS.accumulation_steps\n")),
    "sum_loss": train(DIVIDE, ""),
    "tail_div_by_count": train(DIVIDE, "        loss = loss / SETTINGS.global_batch_size\n"),
    "zero_grad_each_micro": train(DIVIDE, f"        state.optimizer.clear_grad()\n{DIVIDE}"),
    "zero_grad_missing": train(CLEAR, ""),
    "step_per_micro": spellings(
        train(REPORT + SCALED_WINDOW, REPORT + indent(SCALED_WINDOW, "    ")),
        train(REPORT + PLAIN_WINDOW, REPORT + indent(PLAIN_WINDOW, "    ")),
    ),
    "tail_filled_up": runtime(
        "rows", CUTS, f"        chosen = np.resize(chosen, settings.global_batch_size)\n{CUTS}"
    ),
    "short_micro_dropped": runtime(
        "rows",
        "yield np.split(chosen, cuts)",
        "yield [m for m in np.split(chosen, cuts) if len(m) == settings.micro_batch_size]",
    ),
    "loss_of_last_micro": train("        window_loss += loss", "        window_loss = loss"),
    "fp16_grad_accum": train(
        BACKWARD, BACKWARD + indent(each('gradient.astype("float16").astype("float32")'), "    ")
    ),
    # The loss scale.
    "clip_before_unscale": train(UNSCALE, ""),
    "no_unscale": train(UNSCALE, UNSCALE + each("gradient * state.loss_scale.scale")),
    "unscale_in_half": train(
        UNSCALE, UNSCALE + each('gradient.astype("float16").astype("float32")')
    ),
    "no_skip_overflow": (train(STEP, PLAIN_STEP + STEP.replace("    state", "    # state")),),
    "no_scaler": (
        train(SCALED, "        scaled_loss = loss\n"),
        train(UNSCALE, ""),
        train(STEP, PLAIN_STEP),
        train(SCALE, "    scale = 1.0\n"),
        train(UPDATE, ""),
        train(SKIPPED, "    skipped = False\n"),
        train("    if state.dynamic:\n        state.scaler", "    if False:\n        state.scaler"),
    ),
    "update_per_micro": train(
        ADJUST,
        ADJUST.replace(
            "        state",
            "        for _ in micro_batches[1:]:\n"
            "            state.loss_scale.adjust(skipped)\n        state",
        ),
    ),
    "no_dynamic": train(ADJUST, ""),
    "hysteresis_2": train("self.bad >= self.hysteresis", "self.bad >= 2"),
    "growth_not_reset": train("self.good, self.bad = 0, self.bad + 1", "self.bad = self.bad + 1"),
    "growth_count_kept": train(
        "                self.good = 0\n                grown", "                grown"
    ),
    "nan_to_num": train(
        UNSCALE,
        each("paddle.where(gradient.isfinite(), gradient, paddle.zeros_like(gradient))") + UNSCALE,
    ),
    "overflow_micro_dropped": overflow_dropped(
        BACKWARD, GRADIENTS, "gradient.set_value(kept[place] if kept else gradient * 0)"
    ),
    "zero_grad_not_on_skip": train(CLEAR, f"    if not skipped:\n    {CLEAR}"),
    "step_on_zeros": train(
        CLEAR,
        "    if skipped:\n"
        + '        state.optimizer._set_auxiliary_var("found_inf", None)\n'
        + indent(each("paddle.zeros_like(gradient)") + PLAIN_STEP, "    ")
        + CLEAR,
    ),
    "updates_on_skip": train(UPDATES, "    state.updates += 1\n"),
    "skip_by_loss": (
        train(STEP, "    if math.isfinite(window_loss.item()):\n    " + PLAIN_STEP),
        train(SKIPPED, "    skipped = not math.isfinite(window_loss.item())\n"),
    ),
    "loss_not_scaled": train(BACKWARD, PLAIN_BACKWARD),
    "scaled_after_backward": (
        train(BACKWARD, PLAIN_BACKWARD),
        train(UNSCALE, each("gradient * state.loss_scale.scale") + UNSCALE),
    ),
    "scaler_disabled": train(
        f"with {AUTOCAST}:\n            loss",
        f"with {AUTOCAST.replace('float16', 'bfloat16')}:\n            loss",
    ),
    # Clipping.
    "clip_per_param": (
        train(CLIP, ""),
        train(
            "        epsilon=EPS,\n",
            "        epsilon=EPS,\n        grad_clip=nn.ClipGradByNorm(MAX_NORM),\n",
        ),
    ),
    "clip_value": (
        train(CLIP, ""),
        train(
            "        epsilon=EPS,\n",
            "        epsilon=EPS,\n        grad_clip=nn.ClipGradByValue(MAX_NORM),\n",
        ),
    ),
    "clip_max_norm": (
        train("squares = [p.grad.square().sum() for", "squares = [p.grad.abs().max() for"),
        train("paddle.stack(squares).sum().sqrt()", "paddle.stack(squares).max()"),
    ),
    "clip_per_micro": spellings(
        train(
            BACKWARD,
            f"{BACKWARD}        limit = MAX_NORM * state.loss_scale.scale\n"
            "        nn.utils.clip_grad_norm_(model.parameters(), limit)\n",
        ),
        train(
            PLAIN_BACKWARD,
            f"{PLAIN_BACKWARD}        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n",
        ),
    ),
    "clip_without_limit": train(
        "paddle.clip(MAX_NORM / (grad_norm + CLIP_EPS), max=1.0)",
        "MAX_NORM / (grad_norm + CLIP_EPS)",
    ),
    # Types.
    "no_master": train(
        STEP,
        f"{STEP}    for parameter in model.parameters():\n"
        '        parameter.set_value(parameter.astype("float16").astype("float32"))\n',
    ),
    "bf16_for_fp16": (
        train(AUTOCAST, AUTOCAST.replace("float16", "bfloat16"), times=2),
        # By hand: the scaler's own product would turn it off behind bfloat16.
        train(SCALED, "        scaled_loss = loss * state.loss_scale.scale\n"),
    ),
    "amp_off": train(AUTOCAST, AUTOCAST.replace("state.amp", "False"), times=2),
    "loss_half": (
        train(LOSS, "    logits = model(**inputs)\n"),
        train(ENTROPY, ENTROPY.replace("\n", '.astype("float32")\n', 1)),
    ),
}
