"""Configurations of a BERT encoder, which a launch names and which say nothing of training."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.reading.paddle_json import READER
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.readers.config.encoder_json import is_encoder
from crosscast_reading.sources.grouping import group

ENCODER = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 100,
    "max_position_embeddings": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "type_vocab_size": 2,
    "vocab_size": 1000,
}


def values(**changes: Any) -> dict[str, Any]:
    entries = {k: v for k, v in (ENCODER | changes).items() if v is not None}
    source = Source("bert_config.json", json.dumps(entries))
    if not READER.sniff(source):
        return {}
    return {
        fact.field.removeprefix("recipe.model."): fact.value for fact in READER.read(source).facts
    }


def test_sizes_are_read() -> None:
    assert values() == {
        "kind": "bert",
        "layers": 3,
        "hidden_size": 64,
        "attention_heads": 4,
        "vocab_size": 1000,
        "max_positions": 128,
        "type_vocab_size": 2,
        "intermediate_size": 100,
        "dropout": 0.1,
        "init_std": 0.02,
    }
    assert values(intermediate_size=None)["intermediate_size"] == 256
    assert values(layer_norm_eps=1e-6)["layer_norm_eps"] == 1e-6


def test_two_rates_of_dropout_are_none_of_a_recipe() -> None:
    assert "dropout" not in values(hidden_dropout_prob=0.2)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "roberta"},
        {"hidden_act": "relu"},
        {"embedding_size": 128},
        {"position_embedding_type": "relative_key"},
        {"type_vocab_size": None},
        {"hidden_size": "wide"},
        {"hidden_size": None},
        {"num_hidden_layers": 0},
        {"vocab_size": 3.5},
    ],
)
def test_other_encoders_are_not_taken_for_bert(changes: dict[str, Any]) -> None:
    assert values(**changes) == {}


def test_a_configuration_alone_does_not_train() -> None:
    source = Source("bert_config.json", json.dumps(ENCODER))
    assert group([source]) == []
    assert lift(analyse([source])).recipe is None


def test_it_belongs_to_the_launch_that_names_it() -> None:
    launch = Source("run.sh", "python train.py --bert_config_path bert_config.json\n")
    source = Source("bert_config.json", json.dumps(ENCODER))
    other = Source("deep/er_config.json", json.dumps(ENCODER))
    assert group([launch, source, other]) == [(launch, source)]


def test_a_program_with_such_a_dictionary_is_none() -> None:
    assert is_encoder(Source("bert_config.json", json.dumps(ENCODER)))
    assert not is_encoder(Source("model.py", f"config = {json.dumps(ENCODER)}"))


def test_one_rate_of_dropout_is_none_of_a_recipe() -> None:
    assert "dropout" not in values(hidden_dropout_prob=None)
