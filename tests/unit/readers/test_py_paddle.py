"""What a launch command rules out in a program of Paddle."""

from __future__ import annotations

from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from reading_helpers.program_facts import values_of

CALLER = """
import argparse
import paddle.fluid as fluid
from ours.optimization import optimization

parser = argparse.ArgumentParser()
parser.add_argument("--use_fp16", action="store_true")
args = parser.parse_args()
optimization(loss, warmup_steps=100, learning_rate=1e-4, use_fp16=args.use_fp16,
             loss_scaling=128.0, scheduler="linear_warmup_decay")
"""


def test_what_the_launch_command_rules_out_is_no_fact() -> None:
    flag = Fact(field="command.flag", expression="--use_fp16", value="false")
    text = CALLER.replace('action="store_true"', "type=parse, default=True")
    found = values_of(text, launch=Command(program="train.py", flags=(flag,)))
    assert "loss_scaling.mode" not in found or found["precision.enabled"] == "flag"
