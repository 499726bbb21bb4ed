"""Words of libraries: every one means a field that a recipe has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import (
    LIBRARIES,
    fields_of,
    in_words,
    optimizer_words,
    parameter_words,
    scaling_words,
)
from crosscast.variations.table import TABLE
from crosscast_reading.facts.vocabulary import VOCABULARY, printed_name, printed_value

PATHS = {path for path, _ in TABLE} | {
    *("optimizer.betas", "batch.global_batch_size", "data.sequence_length")
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_word_means_a_field_of_a_recipe(library: str) -> None:
    words = parameter_words(library)
    assert words
    assert set(words.values()) <= PATHS


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_scales_a_loss_is_said_in_the_words_of_the_vocabulary(library: str) -> None:
    paths = set(scaling_words(library).values())
    assert paths <= set(VOCABULARY)
    assert all(VOCABULARY[path].recipe == path for path in paths)


ROOT = Path(__file__).resolve().parents[2]
LOOKUPS = {
    *("parameter_words", "optimizer_words", "scaling_words", "fields_of", "in_words"),
    *("tell_numbers", "tell_nesterov", "numbers_of", "setting_of"),
}


def libraries_in_use() -> Iterator[str]:
    """Yield the libraries whose words readers and emitters look up, as far as they are texts."""
    for folder in ("translator", "backends"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text if any(w in text for w in LOOKUPS) else "")):
                if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in LOOKUPS:
                    values = (a.value for a in node.args[:2] if isinstance(a, ast.Constant))
                    yield from (value for value in values if isinstance(value, str))


def test_every_library_that_is_asked_for_has_words_and_every_other_is_a_package() -> None:
    packages = {"tf_keras", "lark", "models-bert", "bitsandbytes", "optax"}
    sections = {path.partition(".")[0] for path in PATHS}
    libraries = {text for text in libraries_in_use() if text.partition(".")[0] not in sections}
    assert libraries <= set(LIBRARIES)
    assert set(LIBRARIES) - libraries <= packages


def test_an_unknown_library_has_no_words() -> None:
    assert scaling_words("none") == {}
    assert optimizer_words("none") == {}


def test_the_first_word_of_a_field_is_the_one_that_is_written() -> None:
    names = ("per_device_train_batch_size", "per_gpu_train_batch_size")
    assert fields_of("transformers", "batch") == {"batch.micro_batch_size": names}
    values = {"seed": 7, "batch.micro_batch_size": 4}
    written = in_words("transformers", values)
    assert list(written.items()) == [("seed", 7), ("per_device_train_batch_size", 4)]


def test_two_calls_do_not_share_a_table() -> None:
    scaling_words("keras")["initial_scale"] = "changed"
    assert scaling_words("keras")["initial_scale"] == "loss_scaling.init_scale"


@pytest.mark.parametrize("api", ["apex.amp.initialize", "deepspeed fp16", "megatron flags"])
def test_defaults_are_in_the_words_of_their_library(api: str) -> None:
    entry = next(entry for entry in LIBRARY_DEFAULTS if entry.api == api)
    words = scaling_words(entry.package)
    assert set(words) <= {name.replace("-", "_") for name in entry.arguments}


def test_reports_keep_the_names_of_version_1() -> None:
    assert printed_name("loss_scaling.init_scale") == "loss_scaling.init"
    assert printed_name("loss_scaling.hysteresis") == "loss_scaling.hysteresis"
    assert printed_value("precision.compute_dtype", "bfloat16") == "bf16"
    assert printed_value("precision.dtypes", ("float16", "fp8")) == ("fp16", "fp8")
    assert printed_value("precision.level", "float16") == "float16"
    assert printed_name("schedule.name") == "schedule.decay"
    assert printed_name("optimizer.name") == "optimizer.family"
    assert printed_name("optimizer.source_name") == "optimizer.name"
    assert printed_value("schedule.name", "constant") == "none"
