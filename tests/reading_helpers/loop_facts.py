"""What the reader of training loops says about a program given as text."""

from __future__ import annotations

import textwrap

from crosscast.messages.source import Source
from crosscast_reading.facts.profile import Profile, profile_of
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python.accumulation import READER

HEAD = """
import argparse
import torch
from torch.cuda.amp import GradScaler, autocast
parser = argparse.ArgumentParser()
parser.add_argument("--accum", type=int, default=4)
parser.add_argument("--clip", type=float, default=1.0)
args = parser.parse_args()
opt = torch.optim.AdamW(model.parameters())
sched = torch.optim.lr_scheduler.StepLR(opt, 10)
scaler = GradScaler()
"""


def facts(text: str, head: str = HEAD) -> Profile:
    program, _ = read_program([Source("train.py", head + textwrap.dedent(text))])
    return profile_of(READER.read(program))


def words(profile: Profile) -> dict[str, object]:
    """Return the value of every field."""
    return {fact.field: fact.value for fact in reversed(profile.facts) if fact.known}
