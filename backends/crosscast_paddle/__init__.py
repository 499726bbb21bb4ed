"""Paddle: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import Era, MigrationApi, SourceSupport

TEXTS = Path(__file__).parent / "texts"
"""Chinese texts of its codes, rules and hints."""
SUPPORT = SourceSupport(
    text_readers={
        "paddle_json": "crosscast_paddle.reading.paddle_json:READER",
        "paddle_yaml": "crosscast_paddle.reading.paddle_yaml:READER",
    },
    python_readers={
        "paddle_amp": "crosscast_paddle.reading.amp:READER",
        "paddle_fleet": "crosscast_paddle.reading.fleet:READER",
        "paddle_optimizers": "crosscast_paddle.reading.optimizers:READER",
        "paddle_model": "crosscast_paddle.reading.high_level:READER",
        "paddle_static": "crosscast_paddle.reading.static:READER",
    },
    rules="crosscast_paddle.rules",
    eras=(
        Era(
            name="paddle",
            title="Paddle 1 and 2",
            codemods="crosscast_paddle.migration.experimental.codemods",
            programs=34,
            right=11,
            wrong=9,
        ),
    ),
    apis=(
        MigrationApi(
            name="paddle3",
            codes="CM3",
            modules=("paddle",),
            framework="paddle",
            public_names="crosscast_paddle.names:NAMES",
        ),
    ),
    words="crosscast_paddle.words:WORDS",
    models="crosscast_paddle.models:MODELS",
    texts=TEXTS,
)
"""Programs that others wrote, see `targets.source_support`."""
