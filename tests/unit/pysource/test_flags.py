"""Flags: defined in many ways, read in many ways, set by the launch command."""

from __future__ import annotations

import pytest

from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.evaluation.conditions import truth
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Known, Unknown

from .conftest import Build, last_use

PARSER = "import argparse\np = argparse.ArgumentParser()\n"


def launch(**flags: object) -> Command:
    return Command(
        program="main.py",
        flags=tuple(
            Fact(field="command.flag", expression=f"--{k}", value=v)  # type: ignore[arg-type]
            for k, v in flags.items()
        ),
    )


@pytest.mark.parametrize(
    ("definition", "read", "value"),
    [
        ("p.add_argument('--lr', type=float, default=1e-3)", "args.lr", 1e-3),
        ("p.add_argument('--lr', type=float, default='1e-3')", "args.lr", 1e-3),
        ("p.add_argument('-l', '--learning-rate', default=1.0)", "args.learning_rate", 1.0),
        ("p.add_argument('--x', dest='lr', default=1)", "args.lr", 1),
        ("p.add_argument('--fp16', action='store_true')", "args.fp16", False),
        ("p.add_argument('--no-fp16', dest='fp16', action='store_false')", "args.fp16", True),
        ("p.add('--learning_rate', '-learning_rate', default=1.0)", "args.learning_rate", 1.0),
        ("p.add_argument('--n', type=int, default=4)", "vars(args)['n']", 4),
        ("p.add_argument('--n', type=int, default=4)", "args.__dict__['n']", 4),
        ("p.add_argument('--n', type=int, default=4)", "getattr(args, 'n', 9)", 4),
        ("p.add_argument('--n', type=int)\np.set_defaults(n=5)", "args.n", 5),
        ("g = p.add_argument_group()\ng.add_argument('--n', default=4)", "args.n", 4),
        ("p.add_argument('--n', default=None)", "args.n", None),
        ("add = p.add_argument\nadd('--n', type=int, default=3)", "args.n", 3),
        (
            "g = p.add_argument_group()\nadd = g.add_argument  # short\nadd('--n', default=3)",
            "args.n",
            3,
        ),
    ],
)
def test_argparse(build: Build, definition: str, read: str, value: object) -> None:
    program = build(f"{PARSER}{definition}\nargs = p.parse_args()\nprint({read})\n")
    found = evaluate(*last_use(program, read))
    assert isinstance(found, Known), found
    assert (found.value, found.origin) == (value, "flag")
    assert found.flag


def test_a_flag_without_default(build: Build) -> None:
    program = build(
        f"{PARSER}p.add_argument('--clip', type=float)\na = p.parse_args()\nif a.clip: pass\n"
    )
    node, module = last_use(program, "a.clip")
    value = evaluate(node, module)
    assert isinstance(value, Unknown)
    assert (value.origin, value.names) == ("flag", ("a.clip",))
    assert truth(node, module) is False


@pytest.mark.parametrize(
    ("definition", "given", "value"),
    [
        ("p.add_argument('--n', type=int, default=4)", "8", 8),
        ("p.add_argument('--n', type=bool, default=False)", "False", True),
        ("p.add_argument('--n', type=bool, default=True)", "", False),
        ("p.add_argument('--n', type=str2bool, default=False)", "true", True),
        ("p.add_argument('--n', action='store_true')", True, True),
        ("p.add_argument('--n', action='store_false')", True, False),
        ("p.add_arg('n', bool, False, 'help')", "true", True),
        ("p.add_arg('n', float, 1.0, 'help')", "128", 128.0),
        ("p.add_argument('--n', type=lambda s: s + 'a', default='b')", "c", "b"),
        ("p.add_argument('--n', type=int, default=4)", "many", 4),
    ],
)
def test_the_launch_command_wins(
    build: Build, definition: str, given: object, value: object
) -> None:
    text = f"{PARSER}{definition}\nargs = p.parse_args()\nprint(args.n)\n"
    program = build(text, launch=launch(n=given))
    found = evaluate(*last_use(program, "args.n"))
    if isinstance(found, Known):
        assert found.value == value
    else:
        assert isinstance(found, Unknown)


def test_other_parsers(build: Build) -> None:
    program = build(
        """
        from absl import flags
        import click, fire
        flags.DEFINE_float("lr", 0.5, "rate")
        flags.DEFINE_bool("fp16", None, "half")
        HOLDER = flags.DEFINE_integer("n", 3, "number")
        FLAGS = flags.FLAGS

        @click.command()
        @click.option("--steps", default=7, type=int)
        def main(steps):
            print(steps, FLAGS.lr, FLAGS.fp16, HOLDER.value)

        def run(depth: int = 2):
            print(depth)

        fire.Fire(run)
        """
    )
    for text, value in (
        ("FLAGS.lr", 0.5),
        ("FLAGS.fp16", None),
        ("HOLDER.value", 3),
        ("steps", 7),
        ("depth", 2),
    ):
        found = evaluate(*last_use(program, text))
        assert isinstance(found, Known), text
        assert (found.value, found.origin) == (value, "flag")


def test_dataclass_parsers(build: Build) -> None:
    program = build(
        """
        from dataclasses import dataclass, field
        from typing import Optional
        from transformers import HfArgumentParser, TrainingArguments

        @dataclass
        class ModelArguments:
            rate: Optional[float] = field(default=0.1, metadata={"help": "x"})
            name: str = "bert"

        parser = HfArgumentParser((ModelArguments, TrainingArguments))
        model_args, training_args = parser.parse_args_into_dataclasses()
        print(model_args.rate, training_args.fp16)
        """,
        launch=launch(rate="0.3"),
    )
    assert evaluate(*last_use(program, "model_args.rate")) == Known(0.3, "flag", "model_args.rate")
    assert isinstance(evaluate(*last_use(program, "training_args.fp16")), Unknown)
    node, module = last_use(program, "training_args")
    assert module.resolve(node) == "transformers.TrainingArguments"


def test_flags_that_are_changed(build: Build) -> None:
    text = PARSER + (
        "p.add_argument('--lr', type=float, default=1.0)\n"
        "p.add_argument('--scale', action='store_true')\n"
        "args = p.parse_args()\n"
        "if args.scale:\n  args.lr = args.lr * 4\n"
        "print(args.lr)\n"
    )
    found = evaluate(*last_use(build(text), "args.lr"))
    assert isinstance(found, Choice)
    assert found.options[0] == ("not args.scale", Known(1.0, "flag", "args.lr"))
    assert found.options[1][1] == Known(4.0, "derived", "args.lr")
    assert evaluate(*last_use(build(text, launch=launch(scale=True)), "args.lr")) == Known(
        4.0, "derived", "args.lr"
    )


def test_sets_have_an_add_too(build: Build) -> None:
    program = build(f"{PARSER}seen.add('-x')\nseen.add('name', default=3)\nlog.add(path, '-y')\n")
    assert set(program.flags) == set()


def test_a_namespace_of_tyro(build: Build) -> None:
    text = """
        from dataclasses import dataclass
        import tyro

        @dataclass
        class Args:
            lr: float = 3e-4

        args = tyro.cli(Args)
        print(args.lr)
    """
    value = evaluate(*last_use(build(text), "args.lr"))
    assert value == Known(3e-4, "flag", "args.lr")


def test_what_is_no_flag(build: Build) -> None:
    program = build(
        PARSER
        + "p.add_argument('--lr', default=1.0)\nargs = p.parse_args()\n"
        + "class Group:\n  lr = 5.0\nopt = Group()\nprint(opt.lr, optimizer.lr)\n"
        + "# p.add_argument('--ghost', default=1)\ns = \"p.add_argument('--ghost')\"\n"
    )
    assert evaluate(*last_use(program, "opt.lr")) == Known(5.0, "constant")
    assert isinstance(evaluate(*last_use(program, "optimizer.lr")), Unknown)
    assert set(program.flags) == {"lr"}


def test_a_name_that_is_no_method_of_a_parser(build: Build) -> None:
    text = f"{PARSER}add = p.add_argument\nmul = names.append\nmul('--n', default=3)\n"
    program = build(f"{text}args = p.parse_args()\nprint(args.n)\n")
    assert isinstance(evaluate(*last_use(program, "args.n")), Unknown)


def test_flags_that_nobody_reads(build: Build) -> None:
    program = build(
        PARSER
        + "p.add_argument('--a', default=1)\np.add_argument('--b', default=1)\n"
        + "args = p.parse_args()\nprint(args.a)\n"
    )
    assert (program.flags["a"].read, program.flags["b"].read) == (True, False)


def test_two_parsers_that_differ(build: Build) -> None:
    program = build(
        files={
            "one.py": PARSER + "p.add_argument('--lr', default=1.0)\n",
            "two.py": PARSER + "p.add_argument('--lr', default=2.0)\n",
            "use.py": "def f(args):\n  return args.lr\n",
        }
    )
    assert isinstance(evaluate(*last_use(program, "args.lr")), Unknown)
