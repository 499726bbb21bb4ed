"""The example problems: three models as one function, and scripts that train them alike."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from frameworks.example_weights import Arrays, canonical, converted
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import require, start
from tiers import Lazy, cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

FOLDER = Path(__file__).parents[2] / "examples"
FRAMEWORKS = ("torch", "tensorflow", "paddle")
NO_DROPOUT = ("DROPOUT, STD = 64, 64, 0.1,", "DROPOUT, STD = 64, 64, 0.0,")


@dataclass(frozen=True)
class Problem:
    """An example problem and what to expect of its tiny model.

    `weights` counts those of the full model. `rate` is a learning rate at which the tiny model
    learns in WINDOWS windows, so that its loss falls below `falls` times the first one.
    """

    name: str
    weights: int
    rate: float
    falls: float
    dropout: bool = False

    @property
    def folder(self) -> Path:
        return FOLDER / self.name


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("resnet-cifar", 11_183_562, 0.05, 0.8),
        Problem("gpt", 809_728, 1e-2, 0.7, dropout=True),
        Problem("lstm-forecast", 50_692, 3e-3, 0.5),
    )
}
