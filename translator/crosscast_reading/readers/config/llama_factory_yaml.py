"""Training files of LLaMA-Factory: arguments of Hugging Face's Trainer and its own, in YAML."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.readers.config.hf_arguments import tell_trainer
from crosscast_reading.readers.config.paddlenlp_arguments import are_paddles
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree

_STRONG = frozenset({"finetuning_type", "stage", "template", "cutoff_len", "dataset_dir"})
_TRAINING = frozenset(
    (
        *("per_device_train_batch_size", "learning_rate", "num_train_epochs", "do_train"),
        *("gradient_accumulation_steps", "lr_scheduler_type"),
    )
)


def owns(source: Source, keys: frozenset[str]) -> bool:
    """Return whether the outermost keys are those of LLaMA-Factory."""
    if "model_name_or_path" not in keys or are_paddles(keys, source.text):
        return False
    return len(keys & _STRONG) >= 2 and bool(keys & _TRAINING)


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("api", "llama_factory", tree.setting("finetuning_type"), origin="presence")
    settings = tree.settings()
    tell_trainer(writer, settings)
    writer.number("data.sequence_length", settings.get("cutoff_len"))
    told = {fact.field for fact in writer.facts}
    off = settings.get("disable_gradient_checkpointing")
    if settings.is_on("disable_gradient_checkpointing") and "activation_checkpointing" not in told:
        writer.tell("activation_checkpointing", "none", off)
    if "parallel.kind" not in told:
        writer.by_library("parallel.kind")


READER = YamlFormat("llama_factory_yaml", owns, _tell)
