"""What is known of programs and configurations whatever their framework is."""

from __future__ import annotations

from crosscast.targets.source_support import SourceSupport

SUPPORT = SourceSupport(
    text_readers={
        "accelerate_yaml": "crosscast_reading.readers.config.accelerate_yaml:READER",
        "axolotl_yaml": "crosscast_reading.readers.config.axolotl_yaml:READER",
        "composer_yaml": "crosscast_reading.readers.config.composer_yaml:READER",
        "deepspeed_json": "crosscast_reading.readers.config.deepspeed_json:READER",
        "detectron2_yaml": "crosscast_reading.readers.config.detectron2_yaml:READER",
        "dockerfile": "crosscast_reading.readers.shell.dockerfile:READER",
        "fairseq_yaml": "crosscast_reading.readers.config.fairseq_yaml:READER",
        "hf_arguments_json": "crosscast_reading.readers.config.hf_arguments_json:READER",
        "hydra_yaml": "crosscast_reading.readers.config.hydra_yaml:READER",
        "latent_diffusion_yaml": "crosscast_reading.readers.config.hydra_yaml:DIFFUSION",
        "lightning_yaml": "crosscast_reading.readers.config.lightning_yaml:READER",
        "litgpt_yaml": "crosscast_reading.readers.config.lightning_yaml:LITGPT",
        "llama_factory_yaml": "crosscast_reading.readers.config.llama_factory_yaml:READER",
        "nemo_yaml": "crosscast_reading.readers.config.nemo_yaml:READER",
        "neox_yaml": "crosscast_reading.readers.config.neox_yaml:READER",
        "recipe": "crosscast_reading.readers.recipe_yaml:READER",
        "shell": "crosscast_reading.readers.shell.reader:READER",
        "torchtune_yaml": "crosscast_reading.readers.config.torchtune_yaml:READER",
    },
    python_readers={
        "accumulation": "crosscast_reading.readers.python.accumulation:READER",
        "config_dicts": "crosscast_reading.readers.python.config_dicts:READER",
        "emitted": "crosscast_reading.readers.emitted.reader:READER",
        "frameworks": "crosscast_reading.readers.python.frameworks:READER",
        "lazy_config": "crosscast_reading.readers.python.lazy_config:READER",
        "mmengine": "crosscast_reading.readers.python.mmengine:READER",
    },
    rules="crosscast_reading.lint.rules",
    words="crosscast_reading.pysource.libraries.third_words:WORDS",
)
"""Formats of third libraries, and rules about loops of any framework."""
