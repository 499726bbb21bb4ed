"""Arguments of PaddleNLP's Trainer in any form: flags, JSON, YAML, Python calls."""

from __future__ import annotations

from dataclasses import replace

from crosscast.readers.config.hf_arguments import tell_trainer
from crosscast.readers.settings import Settings, SettingWriter
from crosscast.readers.words import setting_of

_SPLITS = ("tensor_parallel_degree", "pipeline_parallel_degree", "sharding_parallel_degree")
"""Settings that split a model over processes, if they are above 1."""
TRAINER = frozenset(
    {
        *("amp_master_grad", "scale_loss", "recompute", "sharding", "fp16_opt_level_O2"),
        *("unified_checkpoint", "amp_custom_white_list", "amp_custom_black_list", *_SPLITS),
    }
)
_OWN_ATTENTION = "flashmask"
_HALVES = ("bf16", "fp16")
_DONE = {"schedule.stepped_per": "step", "clipping.per": "step"}
"""What Paddle's Trainer does where that of Hugging Face leaves it to its library."""


def are_paddlenlps(settings: Settings) -> bool:
    """Return whether arguments of the Trainer are those of PaddleNLP's or its successors'."""
    attention = settings.get("_attn_implementation")
    own = attention is not None and attention.text == _OWN_ATTENTION
    return own or bool(settings.having(TRAINER))


def tell_trainer_flags(
    writer: SettingWriter, settings: Settings, *, api: str = "paddle_cli_flags"
) -> None:
    """Record the facts of flags of PaddleNLP's Trainer, which extend those of Hugging Face's."""
    inner = SettingWriter(writer.reader, writer.layer, writer.confidence, home=writer.home)
    computes = settings.get("compute_type")
    if computes is not None and computes.text in _HALVES:
        settings = Settings(dict(settings.entries))
        settings.add(replace(computes, name=computes.text, value=True))
    tell_trainer(inner, settings, api=api)
    weights = settings.get("fp16_opt_level")
    full = weights is not None and weights.text == "O2" and settings.is_on(*_HALVES)
    untold = {"framework", "parallel.kind", "activation_checkpointing"}
    untold |= {"precision.mode"} if full else set()
    done = dict(_DONE)
    if settings.is_on("fp16"):  # the schedule waits for an update that was not skipped
        done |= {"loss_scaling.mode": "dynamic", "schedule.on_skip": "guarded"}
    writer.facts += [
        replace(fact, value=done.get(fact.field, fact.value))
        for fact in inner.facts
        if fact.field not in untold
    ]
    if full:
        writer.tell("precision.mode", "full", weights)
    writer.diagnostics += inner.diagnostics
    writer.tell("framework", "paddle", origin="presence")
    scale = setting_of("paddlenlp", "loss_scaling.init_scale", settings.get)
    if scale is not None and settings.is_on("fp16"):
        writer.number("loss_scaling.init_scale", scale)
    writer.switch("activation_checkpointing", settings.get("recompute"), off="none")
    splits = [setting for name in _SPLITS if (setting := settings.get(name)) is not None]
    above = [setting for setting in splits if (setting.number or 0) > 1]
    if above:
        writer.tell("parallel.kind", "fleet_hybrid", *above)
