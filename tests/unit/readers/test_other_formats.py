"""Dockerfiles, ERNIE's JSON, arguments of the Trainer in JSON."""

from __future__ import annotations

import json

import pytest

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_paddle.reading import paddle_json
from crosscast_reading.readers.config import hf_arguments_json
from crosscast_reading.readers.shell import dockerfile
from reading_helpers.reader_texts import codes, line_of, read, value_of, values_of

ERNIE = {
    "model": {
        "is_dygraph": 1,
        "optimization": {
            "learning_rate": 5e-05,
            "use_lr_decay": True,
            "warmup_proportion": 0.1,
            "weight_decay": 0.01,
            "use_dynamic_loss_scaling": True,
            "init_loss_scaling": 256,
            "incr_every_n_steps": 50,
        },
    },
    "trainer": {"PADDLE_PLACE_TYPE": "gpu", "PADDLE_IS_FLEET": 1, "use_amp": True},
}


def ernie(**optimization: object) -> str:
    config = json.loads(json.dumps(ERNIE))
    config["model"]["optimization"] |= optimization
    return json.dumps(config, indent=2)


def test_ernie() -> None:
    found = read(paddle_json.READER, ernie(), "c.json")
    expected = {
        "framework": "paddle",
        "precision.compute_dtype": "float16",
        "loss_scaling.mode": "dynamic",
        "loss_scaling.init_scale": 256,
        "loss_scaling.growth_interval": 50,
        "parallel.kind": "fleet",
        "optimizer.learning_rate": 5e-5,
        "schedule.name": "linear",
        "schedule.warmup": "0.1 of all",
    }
    assert {field: value_of(found, field) for field in expected} == expected


def test_ernie_with_a_switch_that_dygraph_trainers_do_not_read() -> None:
    found = read(paddle_json.READER, ernie(use_dynamic_loss_scaling=False), "c.json")
    assert value_of(found, "loss_scaling.mode") == "dynamic"
    assert codes(found) == ["CC933"]


def test_ernie_without_amp() -> None:
    text = ernie().replace('"use_amp": true', '"use_amp": false')
    found = read(paddle_json.READER, text, "c.json")
    assert value_of(found, "precision.enabled") == "never"
    assert value_of(found, "loss_scaling.mode") == "none"


def test_trainer_arguments() -> None:
    text = json.dumps(
        {
            "output_dir": "x",
            "per_device_train_batch_size": 4,
            "gradient_accumulation_steps": 2,
            "num_train_epochs": 1,
            "save_steps": 10,
            "bf16": True,
            "learning_rate": 1e-4,
        },
        indent=1,
    )
    found = read(hf_arguments_json.READER, text, "args.json")
    assert value_of(found, "accumulation.steps") == 2
    assert value_of(found, "precision.compute_dtype") == "bfloat16"
    assert line_of(found, "accumulation.steps") == 4


@pytest.mark.parametrize(
    "text",
    [
        '{"num_train_epochs": 3, "name": "x"}',
        '{"trainer": {"use_amp": true}}',
        '{"a": "per_device_train_batch_size", "b": "PADDLE_X"}',
        "[]",
    ],
)
def test_other_json_is_nobodys(text: str) -> None:
    readers = (paddle_json.READER, hf_arguments_json.READER)
    assert not any(reader.sniff(Source("c.json", text)) for reader in readers)


def test_dockerfile() -> None:
    text = (
        'FROM base\nENV A=1 \\\n    TF_ENABLE_AUTO_MIXED_PRECISION="1"\nENV OLD form x\n'
        'RUN pip install x\nCMD ["python", "t.py", "--lr", "1e-4"]\n'
    )
    found = read(dockerfile.READER, text, "docker/Dockerfile.gpu")
    assert value_of(found, "framework") == "tensorflow"
    assert value_of(found, "precision.enabled") == "always"
    assert found.commands[0].program == "t.py"
    assert found.commands[0].flags[0].value == "1e-4"
    assert found.commands[0].flags[0].places[0].line == 6
    given = {f.expression: f.value for f in found.commands[0].environment}
    assert given == {"A": "1", "TF_ENABLE_AUTO_MIXED_PRECISION": "1", "OLD": "form x"}


def test_dockerfile_in_shell_form() -> None:
    found = read(dockerfile.READER, "FROM a\nENTRYPOINT torchrun \\\n  t.py --a 1\n", "Dockerfile")
    assert found.commands[0].launcher == "torchrun"
    assert values_of(found, "parallel.kind") == {"ddp"}


@pytest.mark.parametrize(
    ("name", "text"),
    [("dockerfile.py", "FROM x\n"), ("Dockerfile", "hello\n"), ("notes.txt", "FROM x\nENV A=1\n")],
)
def test_no_dockerfile(name: str, text: str) -> None:
    assert not dockerfile.READER.sniff(Source(name, text))


@pytest.mark.parametrize(("given", "mentioned"), [("ds.json", ("ds.json",)), ("true", ())])
def test_a_file_of_deepspeed_is_mentioned(given: str, mentioned: tuple[str, ...]) -> None:
    arguments = {"num_train_epochs": 3, "save_steps": 1, "logging_steps": 2, "deepspeed": given}
    found = read(hf_arguments_json.READER, json.dumps(arguments), "args.json")
    assert found.mentions == mentioned


def test_a_comma_too_many_is_no_error_to_every_tool() -> None:
    text = '{"num_train_epochs": 3, "save_steps": 1, "logging_steps": 2,}'
    found = hf_arguments_json.READER.read(Source("args.json", text))
    assert [(each.code, each.severity) for each in found.diagnostics] == [
        ("CC922", Severity.WARNING)
    ]
