"""Arguments of PaddleNLP's Trainer in any form: flags, JSON, YAML, Python calls."""

from __future__ import annotations

from crosscast.readers.config.hf_arguments import tell_trainer
from crosscast.readers.settings import Settings, SettingWriter
from crosscast.readers.words import setting_of

TRAINER = frozenset({"amp_master_grad", "scale_loss", "recompute", "sharding", "fp16_opt_level_O2"})


def tell_trainer_flags(writer: SettingWriter, settings: Settings) -> None:
    """Record the facts of flags of PaddleNLP's Trainer, which extend those of Hugging Face's."""
    inner = SettingWriter(writer.reader, writer.layer, writer.confidence)
    tell_trainer(inner, settings, api="paddle_cli_flags")
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
