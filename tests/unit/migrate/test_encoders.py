"""Models that the shipped encoder is, and the many that it is not."""

from __future__ import annotations

from typing import Any

import pytest

import migration_sources
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across


def moved(model: str, imports: str = "import transformers") -> CrossMigration:
    text = migration_sources.TORCH.replace("model = nn.Linear(16, 3).cuda()", model)
    return migrate_across([Source("train.py", f"{imports}\n{text}")], ["paddle"])


def sizes(across: CrossMigration) -> dict[str, Any]:
    return across.recipe.model.model_dump()


def test_a_published_name_is_the_shipped_encoder() -> None:
    across = moved(
        "model = BertForSequenceClassification.from_pretrained('bert-base-uncased', num_labels=3)",
        "from transformers import BertForSequenceClassification",
    )
    found = sizes(across)
    assert (found["kind"], found["layers"], found["hidden_size"]) == ("bert", 12, 768)
    assert (found["vocab_size"], found["labels"]) == (30522, 3)
    assert "paddle/model.py" in across.files
    assert "paddle/own_model.py" not in across.files
    assert across.weights == "bert-base-uncased"


def test_labels_are_the_librarys_where_nobody_says_them() -> None:
    across = moved(
        "model = transformers.AutoModelForSequenceClassification.from_pretrained(\n"
        "    'google-bert/bert-large-cased'\n)"
    )
    found = sizes(across)
    assert (found["layers"], found["vocab_size"], found["labels"]) == (24, 28996, 2)


def test_a_small_published_model_has_its_sizes_in_its_name() -> None:
    across = moved(
        "model = transformers.AutoModelForSequenceClassification.from_pretrained(\n"
        "    'google/bert_uncased_L-4_H-256_A-4'\n)"
    )
    found = sizes(across)
    assert (found["layers"], found["hidden_size"], found["intermediate_size"]) == (4, 256, 1024)


CONFIG = (
    "config = transformers.BertConfig(hidden_size=128, num_hidden_layers=2,"
    " num_attention_heads=2, intermediate_size=512{more})\n"
    "model = transformers.BertForSequenceClassification(config)"
)


def test_a_configuration_of_the_program_is_read() -> None:
    across = moved(CONFIG.replace("{more}", ", num_labels=5"))
    found = sizes(across)
    assert (found["layers"], found["hidden_size"], found["labels"]) == (2, 128, 5)
    assert found["vocab_size"] == 30522
    assert across.weights == ""


def test_paddlenlp_names_the_labels_otherwise() -> None:
    across = moved(
        "model = BertForSequenceClassification.from_pretrained('bert-base-cased', num_classes=4)",
        "from paddlenlp.transformers import BertForSequenceClassification",
    )
    assert sizes(across)["labels"] == 4


@pytest.mark.parametrize(
    "more",
    [
        ", hidden_act='relu'",
        ", position_embedding_type='relative_key'",
        ", is_decoder=True",
        ", hidden_dropout_prob=0.2",
        ", hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.1",
        ", attention_probs_dropout_prob=0.3",
        ", vocab_size=len(words)",
        ", chunk_size_feed_forward=4",
        ", **more",
    ],
)
def test_another_encoder_is_asked_for(more: str) -> None:
    across = moved(CONFIG.replace("{more}", more))
    assert across.recipe.model.kind == "custom"
    assert "model.kind" in across.fill_in


def test_a_configuration_that_is_changed_is_asked_for() -> None:
    text = CONFIG.replace("{more}", "").replace("\nmodel", "\nconfig.hidden_size = 64\nmodel")
    assert moved(text).recipe.model.kind == "custom"


def test_a_configuration_of_another_name_is_asked_for() -> None:
    text = CONFIG.replace("{more}", "").replace("Classification(config)", "Classification(other)")
    assert moved(text).recipe.model.kind == "custom"


def test_equal_rates_of_dropout_are_one() -> None:
    more = ", hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2"
    assert sizes(moved(CONFIG.replace("{more}", more)))["dropout"] == 0.2


@pytest.mark.parametrize(
    "model",
    [
        "model = transformers.BertForSequenceClassification.from_pretrained(name)",
        "model = transformers.BertForSequenceClassification.from_pretrained('me/my-bert')",
        "model = transformers.BertForMaskedLM.from_pretrained('bert-base-uncased')",
        "model = transformers.RobertaForSequenceClassification.from_pretrained('roberta-base')",
        "model = transformers.AutoModelForSequenceClassification.from_pretrained('roberta-base')",
        "model = transformers.BertForSequenceClassification(make())",
        "model = mine.BertForSequenceClassification.from_pretrained('bert-base-uncased')",
        "model = transformers.BertForSequenceClassification.from_pretrained(\n"
        "    'bert-base-uncased', config=other)",
        "model = transformers.BertForSequenceClassification.from_pretrained(\n"
        "    'bert-base-uncased', num_labels=count())",
        "teacher = transformers.BertForSequenceClassification.from_pretrained('bert-base-cased')\n"
        "model = transformers.BertForSequenceClassification.from_pretrained('bert-base-cased')",
    ],
)
def test_what_is_not_certain_is_asked_for(model: str) -> None:
    assert moved(model).recipe.model.kind == "custom"


def test_a_file_of_the_configuration_counts() -> None:
    text = (
        '{"num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 99,'
        ' "max_position_embeddings": 64, "type_vocab_size": 2, "intermediate_size": 256}'
    )
    sources = [Source("train.py", migration_sources.TORCH), Source("config.json", text)]
    assert migrate_across(sources, ["paddle"]).recipe.model.model_dump()["layers"] == 3
