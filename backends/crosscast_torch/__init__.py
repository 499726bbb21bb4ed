"""PyTorch: the target, and what is known of programs for it."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import AllowedChange, Era, MigrationApi, SourceSupport

TEXTS = Path(__file__).parent / "texts"
"""Chinese texts of its codes, rules and hints."""
SUPPORT = SourceSupport(
    python_readers={
        "apex": "crosscast_torch.reading.apex:READER",
        "checkpointing": "crosscast_torch.reading.checkpointing:READER",
        "manual_fp16": "crosscast_torch.reading.manual_fp16:READER",
        "torch_amp": "crosscast_torch.reading.amp:READER",
        "torch_optimizers": "crosscast_torch.reading.optimizers:READER",
        "torch_parallel": "crosscast_torch.reading.parallel:READER",
        "torch_run": "crosscast_torch.reading.run:READER",
        "torch_schedules": "crosscast_torch.reading.schedules:READER",
    },
    rules="crosscast_torch.rules",
    eras=(
        Era(
            name="cuda_amp",
            title="torch.cuda.amp",
            codemods="crosscast_torch.migration.experimental.codemods_cuda_amp",
            programs=17,
            right=12,
            wrong=2,
        ),
        Era(
            name="apex",
            title="apex and half precision by hand",
            codemods="crosscast_torch.migration.experimental.codemods_apex",
            programs=17,
            right=4,
            wrong=5,
        ),
    ),
    apis=(
        MigrationApi(
            name="torch.amp",
            codes="CM1",
            modules=("torch",),
            framework="torch",
            public_names="crosscast_torch.names:NAMES",
        ),
    ),
    changes=(
        AllowedChange(
            name="adam-bias-correction",
            api="torch.amp",
            before="FusedAdam(bias_correction=False) takes larger first steps",
            after="torch.optim.AdamW corrects the bias of its moments",
        ),
    ),
    words="crosscast_torch.words:WORDS",
    models="crosscast_torch.models:MODELS",
    saved_states="crosscast_torch.states.state:STATES",
    texts=TEXTS,
)
"""Programs that others wrote, see `targets.source_support`."""
