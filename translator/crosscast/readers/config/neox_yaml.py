"""Configurations of gpt-neox: YAML in JSON syntax, with entries of DeepSpeed and Megatron."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast.readers.config.deepspeed_config import tell_deepspeed
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import PRECISIONS, setting_of, tell_numbers, tell_warmup

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
    known = len(keys & _ONLY_THERE)
    return known >= 4 or (known >= 2 and bool(deepspeed))


def _tell(writer: SettingWriter, tree: Tree) -> None:
    keys = {name.replace("-", "_"): entry for name, entry in (tree.keys or {}).items()}
    tree = Tree(tree.span, keys=keys, key=tree.key)
    get = tree.setting
    writer.tell("api", "gpt_neox", get("pipe_parallel_size"), origin="presence")
    _named_precision(tree)
    tell_deepspeed(writer, tree)
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
    if kind is not None and (decay := decay_of_schedule(kind.text)):
        writer.tell("schedule.name", decay, kind)
        writer.tell("schedule.stepped_per", "step", kind, origin="presence")
        writer.by_library("schedule.on_skip")
    tell_warmup(writer, None, get("warmup"))
    tell_numbers(writer, "megatron-core", get, "schedule")
    recompute = get("checkpoint_activations")
    if recompute is not None and recompute.switch is not None:
        writer.tell("activation_checkpointing", "yes" if recompute.switch else "none", recompute)
    backend = get("distributed_backend")
    if backend is not None and backend.text in ("nccl", "mpi", "gloo"):
        writer.tell("parallel.backend", backend.text, backend)
    tell_numbers(writer, "megatron-core", get, "seed", "data")


def _named_precision(tree: Tree) -> None:
    """Record `precision: bfloat16` as the precision sections of DeepSpeed would be."""
    named = tree.get("precision")
    if named is None or tree.keys is None:
        return
    section = _SECTIONS.get(PRECISIONS.get(named.text.lower(), ""))
    if section is None:
        return
    existing = tree.get(section)
    keys = dict(existing.keys or {}) if existing is not None else {}
    keys["enabled"] = Tree(named.span, True, key=named.key)
    tree.keys[section] = Tree(named.span, keys=keys, key=named.key)


READER = YamlFormat("neox_yaml", owns, _tell)
