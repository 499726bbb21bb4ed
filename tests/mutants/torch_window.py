"""Bugs in the emitted `train_window` and scaler of PyTorch."""

from __future__ import annotations

from textwrap import indent

from mutants.shared_bugs import overflow_dropped
from mutants.spelling import Spellings, model, runtime, spellings, train

DIVIDE = "        loss = loss / rows\n"
BACKWARD, PLAIN_BACKWARD = "        scaled_loss.backward()\n", "        loss.backward()\n"
UNSCALE = "    state.scaler.unscale_(state.optimizer)\n"
CLIP = "    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n"
STEP, PLAIN_STEP = "    state.scaler.step(state.optimizer)\n", "    state.optimizer.step()\n"
UPDATE = "    state.scaler.update()\n"
SKIPPED = "    skipped = new_scale < scale\n"
CLEAR = "    state.optimizer.zero_grad()\n"
INF = 'float("inf")'
NORM_ONLY = CLIP.replace("MAX_NORM", INF)
AUTOCAST = "torch.autocast(device.type, dtype=torch.float16)"
REPORT = "        window_loss += loss.detach()\n"
SEEN = "    # unscale_ has looked for inf and nan; step() does nothing when it found any.\n"
AVERAGE = "    update_averages(state)\n"
SCALED_STEP = (
    UNSCALE
    + SEEN
    + CLIP
    + STEP
    + "    unit = torch.ones(1, device=device)\n"
    + "    scale = state.scaler.scale(unit)  # get_scale() would wait for the device\n"
    + UPDATE
    + "    new_scale = state.scaler.scale(unit)\n"
    + "    values = torch.cat([window_loss.view(1), grad_norm.view(1), scale, new_scale])\n"
    + "    window_loss, grad_norm, scale, new_scale = values.tolist()  # waits for the device\n"
    + SKIPPED
    + "    if new_scale < MIN_SCALE:\n        state.scaler.update(MIN_SCALE)\n"
    + f"    if not skipped:\n    {AVERAGE}"
    + "    state.updates += not skipped\n"
    + CLEAR
)
UNSCALED_STEP = CLIP + PLAIN_STEP + AVERAGE + "    state.updates += 1\n" + CLEAR
GRADIENTS = "    gradients = [p.grad for p in model.parameters() if p.grad is not None]\n"


def each(change: str) -> str:
    """Return statements that change the `gradients` of the window in place."""
    return GRADIENTS + f"    for gradient in gradients:\n        {change}\n"


def each_weight(change: str) -> str:
    """Return statements that change every `weight` in place."""
    return (
        "    with torch.no_grad():\n"
        "        for weight in model.parameters():\n"
        f"            {change}\n"
    )


WINDOW: Spellings = {
    # Sums and steps.
    "no_accum_div": train(DIVIDE, '        loss = loss / len(batch["labels"])\n'),
    "mean_of_means": train(DIVIDE, '        loss = loss / len(batch["labels"]) / n_micro\n'),
    "sum_loss": train(DIVIDE, ""),
    "tail_div_by_count": train(DIVIDE, "        loss = loss / SETTINGS.global_batch_size\n"),
    "zero_grad_each_micro": train(DIVIDE, f"    {CLEAR}{DIVIDE}"),
    "zero_grad_missing": train(CLEAR, ""),
    "step_per_micro": spellings(
        train(REPORT + SCALED_STEP, REPORT + indent(SCALED_STEP, "    ")),
        train(REPORT + UNSCALED_STEP, REPORT + indent(UNSCALED_STEP, "    ")),
    ),
    "loss_of_last_micro": train(REPORT, REPORT.replace("+=", "=")),
    "fp16_grad_accum": train(
        BACKWARD, BACKWARD + indent(each("gradient.copy_(gradient.half())"), "    ")
    ),
    # The loss scale.
    "clip_before_unscale": train(UNSCALE + SEEN + CLIP, CLIP + UNSCALE),
    "no_unscale": train(UNSCALE, UNSCALE + each("gradient.mul_(state.scaler.get_scale())")),
    "unscale_in_half": train(UNSCALE, UNSCALE + each("gradient.copy_(gradient.half())")),
    "no_skip_overflow": train(STEP, PLAIN_STEP),
    "no_scaler": [
        train("growth_interval=GROWTH_INTERVAL,", "enabled=False,"),
        runtime(
            "state",
            '"scale": saved["scale"], "good": saved["_growth_tracker"]',
            '"scale": saved.get("scale", 1.0), "good": saved.get("_growth_tracker", 0)',
        ),
    ],
    "update_per_micro": train(
        UPDATE, f"{UPDATE}    for _ in micro_batches[1:]:\n    {UNSCALE}    {UPDATE}"
    ),
    "no_dynamic": train(SKIPPED, f"{SKIPPED}    state.scaler.update(INIT_SCALE)\n"),
    "hysteresis_2": [
        train("    updates: int = 0\n", "    updates: int = 0\n    bad: int = 0\n"),
        train(
            SKIPPED,
            SKIPPED
            + "    state.bad = state.bad + 1 if skipped else 0\n"
            + "    if state.bad == 1:\n        state.scaler.update(scale)\n",
        ),
    ],
    "growth_not_reset": [
        train(UPDATE, f'    good = state.scaler.state_dict()["_growth_tracker"]\n{UPDATE}'),
        train(
            SKIPPED,
            f"{SKIPPED}    if skipped:\n"
            '        saved = state.scaler.state_dict() | {"_growth_tracker": good}\n'
            "        state.scaler.load_state_dict(saved)\n",
        ),
    ],
    "nan_to_num": train(UNSCALE, each("gradient.nan_to_num_(0.0, 0.0, 0.0)") + UNSCALE),
    "overflow_micro_dropped": overflow_dropped(
        BACKWARD, GRADIENTS, "gradient.copy_(kept[place]) if kept else gradient.zero_()"
    ),
    "zero_grad_not_on_skip": train(CLEAR, f"    if not skipped:\n    {CLEAR}"),
    "step_on_zeros": train(
        SKIPPED,
        SKIPPED + "    if skipped:\n" + indent(each("gradient.zero_()") + PLAIN_STEP, "    "),
    ),
    # Clipping.
    "clip_per_param": train(
        CLIP,
        NORM_ONLY
        + "    for parameter in model.parameters():\n"
        + "        nn.utils.clip_grad_norm_(parameter, MAX_NORM)\n",
    ),
    "clip_value": train(
        CLIP, f"{NORM_ONLY}    nn.utils.clip_grad_value_(model.parameters(), MAX_NORM)\n"
    ),
    "clip_max_norm": train(CLIP, CLIP.replace("MAX_NORM", f"MAX_NORM, {INF}")),
    "clip_per_micro": spellings(
        train(
            BACKWARD,
            BACKWARD
            + "        limit = MAX_NORM * state.scaler.get_scale()\n"
            + "        nn.utils.clip_grad_norm_(model.parameters(), limit)\n",
        ),
        train(
            PLAIN_BACKWARD,
            f"{PLAIN_BACKWARD}        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n",
        ),
    ),
    # Types.
    "no_master": train(STEP, STEP + each_weight("weight.copy_(weight.half())")),
    "bf16_for_fp16": train(AUTOCAST, AUTOCAST.replace("float16", "bfloat16"), times=2),
    "amp_off": train(AUTOCAST, f"{AUTOCAST[:-1]}, enabled=False)", times=2),
    "softmax_half": model(
        "F.softmax(scores + mask, dim=-1)", "F.softmax((scores + mask).to(q.dtype), dim=-1)"
    ),
    "layer_norm_half": [
        model("        x = self.dense(x).float()\n", "        x = self.dense(x)\n"),
        model("self.LayerNorm(residual + x)", "self.LayerNorm(residual.to(x.dtype) + x)"),
    ],
    "residual_half": [
        model("        x = self.dense(x).float()\n", "        x = self.dense(x)\n"),
        model("self.LayerNorm(residual + x)", "self.LayerNorm((residual.to(x.dtype) + x).float())"),
    ],
    "gelu_half": model('self.intermediate["dense"](x).float()', 'self.intermediate["dense"](x)'),
    "tanh_half": model('self.pooler["dense"](x[:, 0]).float()', 'self.pooler["dense"](x[:, 0])'),
    "loss_half": train("logits = model(**inputs).float()", "logits = model(**inputs)"),
}
