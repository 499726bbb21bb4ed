"""CL913: settings that DeepSpeed does not read, and those that its file takes the place of."""

from __future__ import annotations

import json

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

RUN = """\
deepspeed train.py --deepspeed conf/zero.json --per_device_train_batch_size 4 \\
    --learning_rate 1e-5 --num_train_epochs 2 --lr_scheduler_type cosine --output_dir out
"""
FILE = {
    "train_micro_batch_size_per_gpu": 4,
    "zero_optimization": {"stage": 2},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 100}},
}

DUMPED = json.dumps(FILE)


def found(*sources: tuple[str, str]) -> list[str]:
    """Return the files and lines of settings without effect."""
    results = lint_sources([Source(name, text) for name, text in sources])
    return [f"{d.span.file}:{d.span.line}" for d in results if d.code == "CL913" and d.span]


def test_a_schedule_that_the_file_of_deepspeed_replaces() -> None:
    files = ("run.sh", RUN), ("conf/zero.json", json.dumps(FILE))
    assert found(*files) == ["run.sh:2"]


def test_names_that_variables_hold() -> None:
    text = RUN.replace("conf/zero.json", "$ZERO").replace("cosine", "${SCHEDULE}")
    files = ("run.sh", f"ZERO=conf/zero.json\nSCHEDULE=cosine\n{text}"), ("conf/zero.json", DUMPED)
    assert found(*files) == ["run.sh:4"]
    other = text.replace("ZERO", "OTHER")
    files = (
        ("run.sh", f"ZERO=conf/zero.json\nOTHER=conf/one.json\nSCHEDULE=cosine\n{other}"),
        files[1],
    )
    assert found(*files) == []


@pytest.mark.parametrize(
    "files",
    [
        (("run.sh", RUN), ("conf/zero.json", json.dumps({**FILE, "scheduler": {}}))),
        (("run.sh", RUN), ("conf/other.json", json.dumps(FILE))),
        (
            ("run.sh", RUN.replace("cosine", "constant_with_warmup")),
            ("conf/zero.json", json.dumps(FILE)),
        ),
        (
            ("run.sh", RUN.replace("--lr_scheduler_type cosine ", "")),
            ("conf/zero.json", json.dumps(FILE)),
        ),
    ],
)
def test_schedules_that_hold(files: tuple[tuple[str, str], ...]) -> None:
    assert found(*files) == []


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"max_grad_norm": 0.5}, ["zero.json:3"]),
        ({"grad_clip": 1.0}, ["zero.json:3"]),
        ({"max_grad_norm": 0.5, "gradient_clipping": 0.5}, []),
        ({"gradient_clipping": 0.5}, []),
        ({"optimizer": {"type": "Adam", "params": {"max_grad_norm": 0.5}}}, []),
        ({"max_grad_norm": 0}, []),
    ],
)
def test_limits_under_the_name_of_another_library(
    entries: dict[str, object], expected: list[str]
) -> None:
    text = json.dumps(
        {"train_micro_batch_size_per_gpu": 4, **entries, "fp16": {"enabled": True}}, indent=1
    )
    assert found(("zero.json", text)) == expected


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"bf16": {"enable": True}}, ["zero.json:4"]),
        ({"fp16": {"enabled": True, "initial_scale_powers": 8}}, ["zero.json:5"]),
        ({"fp16": {"enabled": True, "enable": True}}, []),
        ({"fp16": {"enabled": True, "note": "as before"}}, []),
        ({"bf16": {"enabled": True, "bf16_optimizer_states": True}}, []),
        ({"ours": {"enable": True}}, []),
        ({"bf16": True}, []),
    ],
)
def test_misspelt_entries_of_the_half_types(
    entries: dict[str, object], expected: list[str]
) -> None:
    text = json.dumps({"train_micro_batch_size_per_gpu": 4, **entries}, indent=1)
    assert found(("zero.json", text)) == expected


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("print(config)", ["ds.json:1"]),
        ("rate = getattr(config, 'lr')", []),
        ("rate = config['lr']", []),
        ("rate = config.lr", []),
        ("rate = config.get('lr', 0.1)", []),
        ("rate = config['optimizer']", ["ds.json:1"]),
    ],
)
def test_entries_that_the_program_reads(line: str, lines: list[str]) -> None:
    program = f"import json\nimport deepspeed\nconfig = json.load(open('ds.json'))\n{line}\n"
    settings = json.dumps({"train_micro_batch_size_per_gpu": 4, "lr": 0.001})
    assert found(("train.py", program), ("ds.json", settings)) == lines
