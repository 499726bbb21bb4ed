"""What is known of programs that others wrote for toygrad: one of each, as an example."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import Era, MigrationApi, SourceSupport

SUPPORT = SourceSupport(
    python_readers={"toygrad": "crosscast_toy.reading:READER"},
    rules="crosscast_toy.rules",
    eras=(Era(name="toygrad0", title="toygrad 0", codemods="crosscast_toy.codemods"),),
    apis=(MigrationApi(name="toygrad1", codes="CM9", modules=("toygrad",)),),
    words="crosscast_toy.words:WORDS",
    models="crosscast_toy.models:MODELS",
    texts=Path(__file__).parent / "texts",
)
