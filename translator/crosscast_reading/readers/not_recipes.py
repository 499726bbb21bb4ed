"""Recognize files that are no recipes, but programs or configurations that `lift` reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import STDIN, Source
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import variant_fields
from crosscast_reading.pysource.syntax.parse import is_python
from crosscast_reading.readers.config import usual_settings
from crosscast_reading.readers.registry import text_readers

CONFIGURATIONS = {
    "accelerate_yaml": "configuration of Accelerate",
    "axolotl_yaml": "configuration of axolotl",
    "composer_yaml": "configuration of Composer",
    "deepspeed_json": "configuration of DeepSpeed",
    "detectron2_yaml": "configuration of Detectron2",
    "dockerfile": "Dockerfile",
    "fairseq_yaml": "configuration of fairseq",
    "hf_arguments_json": "configuration of Hugging Face's Trainer",
    "hydra_yaml": "configuration of Hydra",
    "latent_diffusion_yaml": "configuration of Latent Diffusion",
    "lightning_yaml": "configuration of Lightning",
    "litgpt_yaml": "configuration of LitGPT",
    "llama_factory_yaml": "configuration of LLaMA-Factory",
    "maxtext_yaml": "configuration of MaxText",
    "model_garden_yaml": "configuration of TensorFlow's Model Garden",
    "nemo_yaml": "configuration of NeMo",
    "neox_yaml": "configuration of GPT-NeoX",
    "paddle_json": "configuration of a program for Paddle",
    "paddle_yaml": "configuration of a program for Paddle",
    "shell": "shell script",
    "torchtune_yaml": "configuration of torchtune",
    "tunix_yaml": "configuration of Tunix",
}
"""Name of a reader and what it reads, with the article `a`; others are called by their tool."""
_OTHER = "configuration of another tool"
_VERSION = re.compile(r"""^[ \t{]*["']?version["']?\s*:\s*\d""", re.MULTILINE)
_PROGRAM = re.compile(r"^(import|from)\s+\w", re.MULTILINE)
_PYTHON = (".py", ".pyw")
_NOTEBOOK = ".ipynb"


def not_a_recipe(source: Source, data: Any) -> Diagnostic | None:
    """Return the diagnostic that says of which kind a file is; None if it may be meant as a recipe.

    Args:
        source: the file, which is no valid recipe.
        data: its content as YAML; None if it is none.
    """
    kind = _program(source) or (_configuration(source) if not _is_meant(source, data) else "")
    if not kind:
        return None
    path = STDIN if source.name == "<stdin>" else source.name
    return Diagnostic(
        code="CC022",
        message=f"{source.name}: this looks like a {kind}, not like a recipe",
        hint=f"try `crosscast lift {path}`: it writes the recipe of what the file says",
    )


def _program(source: Source) -> str:
    name = source.name.lower()
    if name.endswith(_NOTEBOOK):
        return "notebook"
    if name.endswith(_PYTHON):
        return "Python program"
    if name.endswith((".yaml", ".yml", ".json")) or not _PROGRAM.search(source.text):
        return ""
    return "Python program" if is_python(source.text) else ""


def _configuration(source: Source) -> str:
    for reader in (*text_readers(), usual_settings.READER):
        if reader.name == "recipe" or not reader.sniff(source):
            continue
        reading = reader.read(source)
        if reading.facts or reading.commands:
            return CONFIGURATIONS.get(reader.name, _OTHER)
    return ""


def _is_meant(source: Source, data: Any) -> bool:
    """Whether a text is meant as a recipe: with a version, or mostly with fields of one."""
    if not isinstance(data, Mapping):
        return _VERSION.search(source.text) is not None
    known = [name for name in data if name in Recipe.model_fields]
    if type(data.get("version")) is int and len(known) > 1:
        return True
    fields = other = 0
    for name, content in data.items():
        if not isinstance(content, Mapping) or name not in Recipe.model_fields:
            names, allowed = [name], known
        else:
            names, allowed = [*content], [*variant_fields(name)]
        fields += sum(each in allowed for each in names)
        other += sum(each not in allowed for each in names)
    return fields > other
