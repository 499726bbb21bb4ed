"""Arguments of PaddleNLP's Trainer in any form: flags, JSON, YAML, Python calls.

PaddleFormers and ERNIEKit, which came out of PaddleNLP, read the same arguments from YAML.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from crosscast_reading.readers.config.hf_arguments import tell_trainer
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.words import setting_of

_DEGREES = (
    *("tensor_parallel_degree", "pipeline_parallel_degree", "sharding_parallel_degree"),
    *("tensor_model_parallel_size", "pipeline_model_parallel_size", "sep_parallel_degree"),
)
TRAINER = frozenset(
    (
        *("amp_master_grad", "scale_loss", "recompute", "sharding", "unified_checkpoint"),
        *("tensor_parallel_degree", "pipeline_parallel_degree", "sharding_parallel_degree"),
        *("amp_custom_white_list", "amp_custom_black_list", "fp16_opt_level_O2"),
    )
)
"""Arguments that Hugging Face's Trainer does not take."""
_UNTOLD = frozenset({"framework", "parallel.kind", "activation_checkpointing", "schedule.on_skip"})
"""What is said here otherwise than of Hugging Face's Trainer."""
_EVERY_UPDATE = frozenset({"schedule.stepped_per", "clipping.per"})


def are_paddles(names: Set[str], attention: str) -> bool:
    """Return whether arguments with these names are of PaddleNLP's Trainer.

    Args:
        names: of all arguments.
        attention: text that names the implementation of attention; FlashMask is Paddle's.
    """
    return bool(names & TRAINER) or ("_attn_implementation" in names and "flashmask" in attention)


def are_paddlenlps(settings: Settings) -> bool:
    """Return whether settings are arguments of PaddleNLP's Trainer or its successors'."""
    attention = settings.get("_attn_implementation")
    return are_paddles(settings.entries.keys(), "" if attention is None else attention.text)


def tell_trainer_flags(
    writer: SettingWriter, settings: Settings, *, api: str = "paddle_cli_flags"
) -> None:
    """Record the facts of flags of PaddleNLP's Trainer, which extend those of Hugging Face's."""
    settings = _with_types(settings)
    inner = SettingWriter(writer.reader, writer.layer, writer.confidence, home=writer.home)
    tell_trainer(inner, settings, api=api)
    weights = settings.get("fp16_opt_level")
    full = weights is not None and weights.text == "O2" and settings.is_on("fp16", "bf16")
    scaled = settings.is_on("fp16")
    untold = _UNTOLD | ({"precision.mode"} if full else set())
    untold |= {"loss_scaling.mode"} if scaled else set()
    writer.facts += [
        replace(fact, value="step") if fact.field in _EVERY_UPDATE else fact
        for fact in inner.facts
        if fact.field not in untold
    ]
    if full:
        writer.tell("precision.mode", "full", weights)
    writer.diagnostics += inner.diagnostics
    writer.tell("framework", "paddle", origin="presence")
    _tell_step(writer, settings, scaled=scaled)
    _tell_recompute(writer, settings)
    for degree in map(settings.get, _DEGREES):
        if degree is not None and (degree.number or 0) > 1:
            writer.tell("parallel.kind", "fleet_hybrid", degree)
            break


def _with_types(settings: Settings) -> Settings:
    """Return the settings with the switch that `compute_type` of ERNIEKit stands for."""
    kind = settings.get("compute_type")
    if kind is None or settings.get("fp16", "bf16") is not None:
        return settings
    if kind.text in ("fp16", "bf16"):
        switch = replace(kind, name=kind.text, value=True)
    else:  # weights of fewer bits, beside which it computes in a type of its own
        reason = kind.reason or f"{kind.name} is {kind.text!r}"
        switch = replace(kind, name="bf16", known=False, reason=reason)
    return Settings({**settings.entries, switch.name: switch})


def _tell_step(writer: SettingWriter, settings: Settings, *, scaled: bool) -> None:
    """Record what the Trainer does at an update: it scales float16 by a GradScaler only."""
    if scaled:
        half = settings.get("fp16")
        scale = setting_of("paddlenlp", "loss_scaling.init_scale", settings.get)
        writer.tell("loss_scaling.mode", "dynamic", half, scale, origin="presence")
        writer.number("loss_scaling.init_scale", scale)
        writer.tell("schedule.on_skip", "guarded", half, origin="presence")
    else:
        writer.by_library("schedule.on_skip")


def _tell_recompute(writer: SettingWriter, settings: Settings) -> None:
    switch = settings.get("recompute")
    writer.switch("activation_checkpointing", switch, off="none")
    granularity = settings.get("recompute_granularity")
    if switch is None and granularity is not None and _counts(granularity, settings):
        writer.tell("activation_checkpointing", "yes", granularity)


def _counts(granularity: Setting, settings: Settings) -> bool:
    """Return whether the granularity itself switches recomputation on.

    So it does in PaddleFormers, whose files also say by which method; PaddleNLP asks `recompute`.
    """
    return bool(granularity.text) and settings.get("recompute_method") is not None
