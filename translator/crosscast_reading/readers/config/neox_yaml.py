"""Configurations of gpt-neox: YAML in JSON syntax, with entries of DeepSpeed and Megatron."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.readers.config.deepspeed_config import tell_deepspeed
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    PRECISIONS,
    setting_of,
    tell_backend,
    tell_numbers,
    tell_schedule,
    tell_warmup,
)

_ONLY_THERE = frozenset(
    (
        *("pipe_parallel_size", "model_parallel_size", "lr_decay_iters", "train_iters"),
        *("checkpoint_activations", "checkpoint_num_layers", "pos_emb", "lr_decay_style"),
        *("scaled_upper_triang_masked_softmax_fusion", "attention_config", "fp32_allreduce"),
        *("tokenizer_type", "init_method", "output_layer_init_method", "gpt_j_residual"),
    )
)
_SECTIONS = {"float16": "fp16", "bfloat16": "bf16"}
"""Type to the section of DeepSpeed that switches it on."""


def owns(source: Source, keys: frozenset[str]) -> bool:
    """Return whether the outermost keys are those of gpt-neox."""
    if "base_model" in keys or "trainer" in keys:
        return False
    deepspeed = keys & {
        *("train_micro_batch_size_per_gpu", "zero_optimization", "train_batch_size"),
        *("gradient_accumulation_steps", "gradient_clipping"),
    }
    return len(keys & _ONLY_THERE) + 2 * bool(deepspeed) >= 4


def _tell(writer: SettingWriter, tree: Tree) -> None:
    keys = {name.replace("-", "_"): entry for name, entry in (tree.keys or {}).items()}
    tree = Tree(tree.span, keys=_with_named_precision(keys), key=tree.key)
    get = tree.setting
    writer.tell("api", "gpt_neox", get("pipe_parallel_size"), origin="presence")
    tell_deepspeed(writer, tree, shared=True)
    if get("gradient_clipping") is None:
        writer.facts = [
            f for f in writer.facts if f.field not in ("clipping.kind", "clipping.value")
        ]
        writer.default("clipping.kind", "global_norm")
        writer.default("clipping.value", 1.0)
        writer.by_library("clipping.unscaled_first", "clipping.per")
    if not tree.get("optimizer", "params", "weight_decay"):
        writer.number("optimizer.weight_decay", get("weight_decay"))
    kind = setting_of("megatron-core", "schedule.name", get)
    tell_schedule(writer, kind)
    if kind is not None:
        writer.by_library("schedule.on_skip")
    tell_warmup(writer, None, get("warmup"))
    tell_numbers(writer, "megatron-core", get, "schedule")
    writer.switch("activation_checkpointing", get("checkpoint_activations"), off="none")
    tell_backend(writer, get("distributed_backend"))
    tell_numbers(writer, "megatron-core", get, "seed", "data")


def _with_named_precision(keys: dict[str, Tree]) -> dict[str, Tree]:
    """Return entries with `precision: bfloat16` as the sections of DeepSpeed would say it."""
    for named in [keys["precision"]] if "precision" in keys else []:
        if section := _SECTIONS.get(PRECISIONS.get(named.text.lower(), "")):
            given = keys[section].keys if section in keys else None
            entries = {**(given or {}), "enabled": Tree(named.span, True, key=named.key)}
            return keys | {section: Tree(named.span, keys=entries, key=named.key)}
    return keys


READER = YamlFormat("neox_yaml", owns, _tell)
