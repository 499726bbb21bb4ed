"""Configurations of a BERT encoder: `bert_config.json`, `ernie_config.json`.

They say nothing of training; a launch names them, and then they are the model of its recipe.
"""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree

_SIZES = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "attention_heads",
    "vocab_size": "vocab_size",
    "max_position_embeddings": "max_positions",
    "type_vocab_size": "type_vocab_size",
}
"""Keys that every such file has, and their fields in a recipe."""
_OTHERS = frozenset({"embedding_size", "position_embedding_type", "num_key_value_heads"})
"""Keys of other architectures: ALBERT, ELECTRA, relative positions."""


def is_encoder(source: Source) -> bool:
    """Return whether a text looks like such a configuration; cheap."""
    text = source.text
    return text.lstrip().startswith("{") and all(f'"{name}"' in text for name in _SIZES)


def tell_encoder(writer: SettingWriter, tree: Tree) -> None:
    """Record the model; encoders that are not built like BERT give no facts."""
    settings = tree.settings()
    kind, activation = settings.get("model_type"), settings.get("hidden_act")
    if kind is not None and kind.text != "bert":
        return
    if activation is not None and activation.text != "gelu":
        return
    other = settings.get(*_OTHERS)
    if other is not None and other.text != "absolute":
        return
    sizes = {field: settings.get(name) for name, field in _SIZES.items()}
    sizes["intermediate_size"] = settings.get("intermediate_size")
    numbers = {field: setting.number for field, setting in sizes.items() if setting is not None}
    whole = all(isinstance(number, int) and number > 0 for number in numbers.values())
    if not whole or "hidden_size" not in numbers:
        return
    writer.tell("recipe.model.kind", "bert", sizes["hidden_size"], origin="presence")
    for field, value in numbers.items():
        writer.tell(f"recipe.model.{field}", value, sizes[field])
    if sizes["intermediate_size"] is None:
        wide = 4 * int(numbers["hidden_size"] or 0)
        writer.tell("recipe.model.intermediate_size", wide, sizes["hidden_size"], origin="derived")
    _rates(writer, tree)


def _rates(writer: SettingWriter, tree: Tree) -> None:
    """Record the floating-point settings; a recipe cannot hold two different dropout rates."""
    hidden, weights = (
        tree.section(name).as_setting(name)
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob")
    )
    if hidden.number is not None and hidden.number == weights.number:
        writer.tell("recipe.model.dropout", float(hidden.number), hidden, weights)
    for name, field in (("initializer_range", "init_std"), ("layer_norm_eps", "layer_norm_eps")):
        setting = tree.section(name).as_setting(name)
        number = setting.number or 0
        if number > 0:
            writer.tell(f"recipe.model.{field}", float(number), setting)
