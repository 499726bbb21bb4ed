"""Experiment files of TensorFlow's Model Garden."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_tensorflow.reading.model_garden import tell_experiment

_MARK = re.compile(
    r"^[ \t]+(distribution_strategy|mixed_precision_dtype|optimizer_config|steps_per_loop|"
    r"train_steps|validation_interval|summary_interval)[ \t]*:",
    re.M,
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    if not keys & {"runtime", "trainer"} or "model" in keys:
        return False
    marks = set(_MARK.findall(source.text))
    return len(marks) >= 2 and bool(keys & {"task", "trainer"})


READER = YamlFormat("model_garden_yaml", _owns, tell_experiment, loader="numbers")
