"""Arguments of PaddleNLP's Trainer in any form: flags, JSON, YAML, Python calls."""

from __future__ import annotations

from crosscast.readers.config.hf_arguments import tell_trainer
from crosscast.readers.settings import Settings, SettingWriter
from crosscast.readers.words import setting_of

TRAINER = frozenset({"amp_master_grad", "scale_loss", "recompute", "sharding", "fp16_opt_level_O2"})
_SPLITS = ("tensor_parallel_degree", "pipeline_parallel_degree", "sharding_parallel_degree")
"""Settings that split a model over processes, if they are above 1."""


def tell_trainer_flags(
    writer: SettingWriter, settings: Settings, *, api: str = "paddle_cli_flags"
) -> None:
    """Record the facts of flags of PaddleNLP's Trainer, which extend those of Hugging Face's."""
    inner = SettingWriter(writer.reader, writer.layer, writer.confidence)
    tell_trainer(inner, settings, api=api)
    weights = settings.get("fp16_opt_level")
    full = weights is not None and weights.text == "O2" and settings.is_on("fp16", "bf16")
    untold = {"framework", "parallel.kind", "activation_checkpointing"}
    untold |= {"precision.mode"} if full else set()
    writer.facts += [f for f in inner.facts if f.field not in untold]
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
        writer.tell("api", "paddle_fleet", *above, origin="presence")
