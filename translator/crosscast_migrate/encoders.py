"""BERT classifiers of known libraries that equal the shipped encoder. Other models stay the user's.

The source must define the sizes: by the name of published weights, or by a configuration whose
arguments can all be evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.tables import EncoderLibrary
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_CLASSIFIERS = ("BertForSequenceClassification", "AutoModelForSequenceClassification")
_PUBLISHED = re.compile(
    r"(?:google-bert/)?bert-(?P<size>base|large)-(?P<words>uncased|cased|chinese"
    r"|multilingual-cased|multilingual-uncased|uncased-whole-word-masking"
    r"|cased-whole-word-masking)"
)
_SMALL = re.compile(r"google/bert_uncased_L-(\d+)_H-(\d+)_A-(\d+)")
_WORDS = {
    "uncased": 30522,
    "cased": 28996,
    "chinese": 21128,
    "multilingual-cased": 119547,
    "multilingual-uncased": 105879,
    "uncased-whole-word-masking": 30522,
    "cased-whole-word-masking": 28996,
}
_SIZES = {"base": (12, 768, 12, 3072), "large": (24, 1024, 16, 4096)}
_FIELDS = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "attention_heads",
    "intermediate_size": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_position_embeddings": "max_positions",
    "type_vocab_size": "type_vocab_size",
    "hidden_dropout_prob": "dropout",
    "layer_norm_eps": "layer_norm_eps",
    "initializer_range": "init_std",
    "num_labels": "labels",
    "num_classes": "labels",
}
"""Argument of a configuration to field of the model."""
_USUAL: Mapping[str, float] = {
    "layers": 12,
    "hidden_size": 768,
    "attention_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 30522,
    "max_positions": 512,
    "type_vocab_size": 2,
    "dropout": 0.1,
    "layer_norm_eps": 1e-12,
    "init_std": 0.02,
    "labels": 2,
}
"""Defaults of a BertConfig: BERT-base."""
_ALIKE = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
"""Arguments that must have the value of the shipped encoder."""
_HARMLESS = frozenset(
    {"pad_token_id", "return_dict", "output_attentions", "output_hidden_states", "cache_dir"}
    | {"id2label", "label2id", "use_cache", "local_files_only", "revision"}
)
_FLOATS = ("dropout", "layer_norm_eps", "init_std")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """A model that equals the shipped encoder."""

    fields: Mapping[str, Filled]
    """Full path to field, for the fields of the recipe's model."""
    weights: str = ""
    """Name of the pretrained weights that the source loads."""


def encoder_of(program: Program) -> Encoder | None:
    """Return the encoder of a program; None for another or an uncertain model."""
    calls = [call for call in program.calls() if _is_classifier(call)]
    if len(calls) != 1:
        return None
    call = calls[0]
    if call.has_star:
        return None
    if call.method == "from_pretrained":
        return _published(call)
    return _configured(call, program)


def _is_classifier(call: Call) -> bool:
    name = call.name.removesuffix(".from_pretrained")
    package, _, word = name.rpartition(".")
    return any(
        _is_in(package, library) and word == f"{library.prefix}{classifier}"
        for library in _libraries()
        for classifier in _CLASSIFIERS
    )


def _libraries() -> list[EncoderLibrary]:
    return [library for tables in model_tables().values() for library in tables.encoders]


def _is_in(package: str, library: EncoderLibrary) -> bool:
    return f"{package}.".startswith(f"{library.package}.")


def _published(call: Call) -> Encoder | None:
    """Return the encoder with a published name."""
    named = call.node.args[0] if call.node.args else None
    for keyword in call.node.keywords:
        if keyword.arg == "pretrained_model_name_or_path":
            named = keyword.value
    value = evaluate(named, call.module) if named is not None else None
    if not isinstance(value, Known) or not isinstance(value.value, str):
        return None
    if "config" in call.bound():
        return None  # not the published configuration
    sizes = _sizes(value.value)
    overrides = _arguments(call)
    if sizes is None or overrides is None:
        return None
    span = call.module.span(call.node)
    note = f"published configuration of {value.value}"
    fields = {path: Filled(value=size, places=(span,), note=note) for path, size in sizes.items()}
    return _encoder({**fields, **overrides}, weights=value.value)


def _sizes(name: str) -> dict[str, float] | None:
    if match := _PUBLISHED.fullmatch(name):
        layers, hidden, heads, wide = _SIZES[match["size"]]
        words = _WORDS[match["words"]]
    elif match := _SMALL.fullmatch(name):
        layers, hidden, heads = (int(digits) for digits in match.groups())
        wide, words = 4 * hidden, _WORDS["uncased"]
    else:
        return None
    given = {"layers": layers, "hidden_size": hidden, "attention_heads": heads}
    sizes = {**_USUAL, **given, "intermediate_size": wide, "vocab_size": words}
    del sizes["labels"]
    return sizes


def _configured(call: Call, program: Program) -> Encoder | None:
    """Return the encoder of a configuration that the program creates."""
    made = [call for call in program.calls() if call.name.rpartition(".")[2] == "BertConfig"]
    if len(made) != 1 or made[0].node.args:
        return None
    package = made[0].name.rpartition(".")[0]
    libraries = [library for library in _libraries() if _is_in(package, library)]
    if not libraries:
        return None
    overrides = _arguments(made[0])
    if overrides is None or not _is_passed(call, made[0]):
        return None
    if not overrides.keys() >= libraries[0].stated:
        return None
    span = made[0].module.span(made[0].node)
    note = f"default of {made[0].name}"
    usual = {
        path: Filled(value=size, how="default", places=(span,), note=note)
        for path, size in _USUAL.items()
    }
    return _encoder({**usual, **overrides})


def _is_passed(call: Call, config: Call) -> bool:
    """Whether a model is created from a configuration that is certainly not modified before."""
    given = [*call.node.args, *(k.value for k in call.node.keywords if k.arg == "config")]
    if len(given) != 1 or call.module is not config.module:
        return False
    if given[0] is config.node:
        return True
    module, name = call.module, given[0]
    statement = module.statement_of(config.node)
    made = isinstance(statement, ast.Assign) and statement.value is config.node
    if not made or not isinstance(name, ast.Name) or not isinstance(statement, ast.Assign):
        return False
    targets = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    uses = [node for node in module.every(ast.Name) if node.id == name.id]
    # Its definition and the model; any other use may modify it.
    return targets == [name.id] and len(uses) == 2


def _arguments(call: Call) -> dict[str, Filled] | None:
    """Return the model's fields from arguments; None if one is unknown or defines another model."""
    if call.has_star:
        return None
    values: dict[str, Filled] = {}
    span = call.module.span(call.node)
    rates = set()
    harmless = _HARMLESS.union(*(library.harmless for library in _libraries()))
    for name, node in call.bound().items():
        value = evaluate(node, call.module)
        if name in harmless or name == "pretrained_model_name_or_path":
            continue
        if not isinstance(value, Known):
            return None
        if name in _ALIKE:
            if value.value != _ALIKE[name]:
                return None
        elif name == "attention_probs_dropout_prob":
            rates.add(value.value)
        elif name not in _FIELDS or isinstance(value.value, bool):
            return None
        elif isinstance(value.value, int | float):
            field = _FIELDS[name]
            number = float(value.value) if field in _FLOATS else value.value
            values[field] = Filled(value=number, places=(span,), note=value.flag)
            rates |= {number} if field == "dropout" else set()
        else:
            return None
    if ("dropout" in values) != ("attention_probs_dropout_prob" in call.bound()):
        rates.add(_USUAL["dropout"])
    return values if len(rates) <= 1 else None


def _encoder(parts: Mapping[str, Filled], weights: str = "") -> Encoder:
    """Return an encoder; every library has two labels by default."""
    labels = Filled(value=2, how="default", note="default of the library")
    fields = {"labels": labels, **parts}
    paths = {f"model.{name}": filled for name, filled in fields.items()}
    return Encoder(fields={"model.kind": Filled(value="bert"), **paths}, weights=weights)
