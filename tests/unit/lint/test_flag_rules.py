"""CL910, CL911, CL912, CL921: flags that are dead, stuck, there twice or not there."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.topics import topic_of

CODES = frozenset({"CL910", "CL911", "CL912", "CL921"})
LOOP = """\
def train({parameters}):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr={name}.lr)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        {body}
        optimizer.step()
"""


def program(flags: str, body: str = "pass", tail: str = "train(args)", name: str = "args") -> str:
    return "\n".join(
        [
            "import argparse",
            "import logging",
            "import torch",
            LOOP.format(parameters=name, name=name, body=body),
            "parser = argparse.ArgumentParser()",
            'parser.add_argument("--lr", type=float, default=0.1)',
            flags,
            "args = parser.parse_args()",
            tail,
            "",
        ]
    )


def found(*texts: str) -> list[tuple[str, str]]:
    """Return code and first word of the findings in train.py, run.sh and modules."""
    names = ["run.sh" if not text.startswith("import") else "" for text in texts]
    modules = iter(("train.py", "helper.py"))
    sources = [Source(n or next(modules), t) for n, t in zip(names, texts, strict=True)]
    results = lint_sources(sources, Options(codes=CODES))
    assert all(result.is_finding for result in results)
    return [(result.code, result.message.split()[0]) for result in results]


CLIP = 'parser.add_argument("--grad-clip", type=float, default=1.0)'


# dead flags


ONLY_FALSE = """
def false(text):
    if text != "false":
        raise argparse.ArgumentTypeError("true needs another recipe")
    return {value}
"""


@pytest.mark.parametrize(
    ("type_", "value", "codes"),
    [("false", "False", []), ("false", "bool(text)", ["CL912"]), ("str", "False", ["CL912"])],
)
def test_a_flag_that_takes_one_value_has_the_effect_to_refuse_others(
    type_: str, value: str, codes: list[str]
) -> None:
    flag = f'add = parser.add_argument\nadd("--use_fp16", type={type_}, default=False)'
    text = program(ONLY_FALSE.format(value=value) + flag)
    assert [code for code, _ in found(text)] == codes


@pytest.mark.parametrize(
    ("imported", "type_", "codes"),
    [
        ("from flags import false", "false", []),
        ("from .flags import false as only", "only", []),
        ("import flags", "flags.false", []),
        ("from . import flags", "flags.false", []),
        ("from distutils.util import strtobool", "strtobool", ["CL912"]),
        ("from accelerate.utils import str_to_bool", "str_to_bool", ["CL912"]),
        ("import torch.cuda", "torch.cuda.device", ["CL912"]),
        ("from pathlib import Path", "Path", ["CL912"]),
        ("text = lambda given: given", "text", ["CL912"]),
        ("from flags import read", "str", ["CL912"]),
    ],
)
def test_a_type_that_no_file_defines_may_refuse_values(
    imported: str, type_: str, codes: list[str]
) -> None:
    flag = f'parser.add_argument("--use_fp16", type={type_}, default=False)'
    assert [code for code, _ in found(program(f"{imported}\n{flag}"))] == codes


@pytest.mark.parametrize(("value", "codes"), [("False", []), ("bool(text)", ["CL912"])])
@pytest.mark.parametrize(
    ("imported", "type_"),
    [("from helper import false as x", "x"), ("import helper", "helper.false")],
)
def test_a_type_is_looked_up_in_the_module_that_defines_it(
    imported: str, type_: str, value: str, codes: list[str]
) -> None:
    flag = f'parser.add_argument("--use_fp16", type={type_}, default=False)'
    helper = f"import argparse\n{ONLY_FALSE.format(value=value)}"
    assert [code for code, _ in found(program(f"{imported}\n{flag}"), helper)] == codes


@pytest.mark.parametrize(
    "flag", ["--fp16", "--use-amp", "--loss-scale", "--warmup_steps", "--max-norm"]
)
def test_flags_of_the_step_that_nothing_reads(flag: str) -> None:
    text = program(f'parser.add_argument("{flag}", default=None)')
    assert found(text) == [("CL912", flag)]


@pytest.mark.parametrize(
    "tail",
    [
        "train(args); print(args)",
        "train(args); logging.info(vars(args))",
        "for k, v in vars(args).items():\n    print(k, v)\ntrain(args)",
        "torch.save({'args': str(args)}, 'x'); train(args)",
        "from data import get_loader\nloader = get_loader(args)\ntrain(args)",
        "import reader\nloader = reader.train(args)\ntrain(args)",
        "from parts import Net\nmodel = Net(args)\ntrain(args)",
        "train(args)\ntorch.save({'args': args, 'optimizer': state}, 'x')",
        "from models import build_model\nmodel = build_model('net', args)\ntrain(args)",
        "import json\njson.dump(vars(args), open('a.json', 'w'))\ntrain(args)",
        "from tools import save_json\nsave_json(vars(args), 'a.json')\ntrain(args)",
        "kind = getattr(torch.optim, chosen)\ntrain(args)",
        "from tools import ema\ndef end(opt):\n    opt.step()\n    ema(opt)\ntrain(args)",
    ],
)
def test_where_flags_may_go_and_stay_dead(tail: str) -> None:
    assert found(program(CLIP, tail=tail)) == [("CL912", "--grad-clip")]


@pytest.mark.parametrize(
    ("body", "tail"),
    [
        ("clip(model, args.grad_clip)", "train(args)"),
        ("clip(model, getattr(args, 'grad_clip', 0))", "train(args)"),
        ("clip(model, vars(args)['grad_clip'])", "train(args)"),
        ("clip(model, args)", "train(args)"),
        ("clip(model, **vars(args))", "train(args)"),
        ("pass", "from engine import fit\nfit(args)\ntrain(args)"),
        ("pass", "from optimizers import build\nstep = build(args)\ntrain(args)"),
        ("pass", "config = Config(**vars(args))\ntrain(args)"),
        ("pass", "config = prepare(args)\ntrain(args)"),
        ("pass", "model, step = prepare(args)\ntrain(args)"),
        ("pass", "model = Trainer(args)\ntrain(args)"),
        ("pass", "fit({'args': args})\ntrain(args)"),
        ("pass", "config = {**vars(args)}\ntrain(args)"),
        ("pass", "for k in names:\n    use(getattr(args, k))\ntrain(args)"),
        ("pass", "for k, v in vars(args).items():\n    setattr(config, k, v)\ntrain(args)"),
        ("pass", "queue = [args]\ntrain(args)"),
        ("pass", "from tools import fit\ndef end(opt):\n    fit(opt)\ntrain(args)"),
    ],
)
def test_flags_that_something_may_read(body: str, tail: str) -> None:
    assert found(program(CLIP, body, tail)) == []


def test_flags_under_another_name() -> None:
    assert found(program(CLIP, name="settings")) == [("CL912", "--grad-clip")]
    assert found(program(CLIP, "clip(model, settings.grad_clip)", name="settings")) == []
    assert found(program(CLIP, "unknown(settings)", name="settings")) == []


def test_helper_modules_count() -> None:
    tail = "from helper import clip\nclip(args)\ntrain(args)"
    helper = "import torch\ndef clip(args):\n    return {}\n"
    assert found(program(CLIP, tail=tail), helper.format("args.grad_clip")) == []
    assert found(program(CLIP, tail=tail), helper.format("args.lr")) == [("CL912", "--grad-clip")]


@pytest.mark.parametrize(
    "flags",
    [
        'parser.add_argument("--grad-clip", help="deprecated, has no effect")',
        'parser.add_argument("--eval-fp16", action="store_true")',
        'parser.add_argument("--clip-model", default="ViT")',
        'parser.add_argument("--name", default="x")',
        'parser.add_argument("--fp16", action="version")',
    ],
)
def test_flags_that_are_of_no_concern(flags: str) -> None:
    assert found(program(flags)) == []


def test_names_of_libraries_read_no_flag() -> None:
    flag = 'parser.add_argument("--amp", action="store_true")'
    assert found(program(flag, "torch.cuda.amp.autocast()")) == [("CL912", "--amp")]
    assert found(program(flag, "self.amp")) == []


def test_flags_of_the_optimizer() -> None:
    flag = 'parser.add_argument("--momentum", type=float, default=0.9)'
    assert found(program(flag)) == [("CL912", "--momentum")]
    assert found(program(flag, "use(args.momentum)")) == []
    assert found(program(flag, "make_optimizer(args)")) == []
    assert found(program(flag.replace("default", "help='not used', default"))) == []


def test_a_file_of_flags_alone_says_nothing() -> None:
    text = program(CLIP)
    without_loop = text[: text.index("def train")] + text[text.index("parser =") :]
    assert found(without_loop.replace("train(args)", "optimizer = 1")) == []


@pytest.mark.parametrize(
    ("flag", "topic"),
    [
        ("--use_fp16", "precision"),
        ("--half", "precision"),
        ("--init-loss-scaling", "scaling"),
        ("--clip", "clipping"),
        ("--gradient_clip_val", "clipping"),
        ("--gradient-accumulation-steps", "accumulation"),
        ("--lr-scheduler", "schedule"),
        ("--warmup", "schedule"),
        ("--decay-factor", "schedule"),
        ("--lr_exp_decay", "schedule"),
        ("--min-reduce-epochs", "schedule"),
        ("--reduce-memory", None),
        ("--weight-decay", "optimizer"),
        ("--optim", "optimizer"),
        ("--optimizer_type", "optimizer"),
        ("--adam_beta2", "optimizer"),
        ("--optimizer-file", None),
        ("--ema-momentum", None),
        ("--beta2", None),
        ("--clip-duration", None),
        ("--example", None),
        ("--eval_amp", None),
        ("--scale", None),
        ("--camp", None),
    ],
)
def test_topics(flag: str, topic: str | None) -> None:
    assert topic_of(flag) == topic


# flags that cannot be switched


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ('parser.add_argument("--x", type=bool, default=False)', 1),
        ('parser.add_argument("--x", action="store_true", default=True)', 1),
        ('parser.add_argument("--x", action="store_false", default=False)', 1),
        ('parser.add_argument("--x", action="store_true")', 0),
        ('parser.add_argument("--x", action="store_true", default=False)', 0),
        ('parser.add_argument("--x", type=str2bool, default=True)', 0),
        ('parser.add_argument("--x", action=argparse.BooleanOptionalAction, default=True)', 0),
        (
            'parser.add_argument("--x", action="store_true", default=True)\n'
            'parser.add_argument("--no-x", action="store_false", dest="x")',
            0,
        ),
    ],
)
def test_switches(flags: str, count: int) -> None:
    assert [code for code, _ in found(program(flags, "use(args.x)"))] == ["CL910"] * count


# flags that are there twice


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ('parser.add_argument("--lr", default=1)', 1),
        ('parser.add_argument("-r", "--lr", default=1)', 1),
        ('if x:\n    parser.add_argument("--lr", default=1)', 0),
        ('other.add_argument("--lr", default=1)', 0),
        ('def f(parser):\n    parser.add_argument("--lr", default=1)', 0),
        ('parser.add_argument("--lrs", default=1)', 0),
    ],
)
def test_definitions(flags: str, count: int) -> None:
    assert [code for code, _ in found(program(flags, "use(args.lrs)"))] == ["CL911"] * count


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("python x.py --fp16 true --fp16 false", 1),
        ("python x.py --fp16 true --fp16 true", 0),
        ("python x.py --adam_beta1 0.9 --adam_beta1 0.95", 1),
        ("python x.py --lr 0.1 --weight-decay 0 --lr 0.2", 1),
        ("python x.py --layer 1 --layer 2", 0),
        ("python x.py --lr 0.1 --lr 0.2 --lr 0.3", 0),
        ("COMMON='--lr 0.1'\npython x.py $COMMON --lr 0.2", 0),
        ("python x.py --save_epoch 1 --save_epoch 2", 0),
        ("python x.py --define a=1 --define b=2", 0),
        ("python x.py --fp16 true\npython x.py --fp16 false", 0),
    ],
)
def test_commands(command: str, count: int) -> None:
    assert [code for code, _ in found(f"{command}\n")] == ["CL911"] * count


# flags that are not there

READS = 'parser.add_argument("--grad-clip", type=float, default=1.0)'


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("python train.py --lr 0.1 --grad-clip 2", []),
        ("python train.py --lr=0.1 --grad 2", []),
        ("torchrun --nproc_per_node 8 train.py --lr 0.1", []),
        ("python train.py --help", []),
        ("python train.py --lr 0.1 --fp16", ["--fp16"]),
        ("python train.py --grad_clip 2", ["--grad_clip"]),
        ("python other.py --fp16", []),
    ],
)
def test_launches(command: str, names: list[str]) -> None:
    text = program(READS, "clip(args.grad_clip)")
    results = lint_sources(
        [Source("train.py", text), Source("run.sh", command + "\n")], Options(codes=CODES)
    )
    assert [
        result.message.partition("no flag ")[2].partition(":")[0] for result in results
    ] == names


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parse_args()", "parse_known_args()[0]"),
        ("parser = argparse", "parser = mine.make()\nother = argparse"),
        ("args = ", "extend(parser)\nargs = "),
        ("args = ", "for n in names:\n    parser.add_argument('--' + n)\nargs = "),
        ("import logging", "import sys\nprint(sys.argv)"),
        ("ArgumentParser()", "ArgumentParser(parents=[base])"),
    ],
)
def test_parsers_that_may_know_more(old: str, new: str) -> None:
    text = program(READS, "clip(args.grad_clip)").replace(old, new)
    assert found(text, "python train.py --fp16\n") == []


def test_a_setting_that_another_file_fills_from_the_flags() -> None:
    text = program(
        'parser.add_argument("--clip-grad", type=float)',
        "clip(config.TRAIN.CLIP_GRAD)",
        "config = get_config(args)\ntrain(config)",
        "config",
    ).replace("config = parser", "args = parser")
    assert found(text) == []


def test_a_setting_of_another_name_does_not_read_the_flag() -> None:
    text = program(
        'parser.add_argument("--clip-grad", type=float)',
        "clip(config.TRAIN.LIMIT)",
        "config = get_config(args)\ntrain(config)",
        "config",
    ).replace("config = parser", "args = parser")
    assert len(found(text)) == 1


def test_an_accumulation_flag_is_told_of_once() -> None:
    text = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
args = parser.parse_args()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
"""
    found = lint_sources([Source("train.py", text)])
    assert [diagnostic.code for diagnostic in found] == ["CL109"]
