"""Configurations of trainers: a recipe as settings for the user's program."""

from __future__ import annotations

from crosscast_trainers.accelerate import BACKEND as ACCELERATE
from crosscast_trainers.deepspeed import BACKEND as DEEPSPEED
from crosscast_trainers.fabric import BACKEND as FABRIC
from crosscast_trainers.lightning import BACKEND as LIGHTNING
from crosscast_trainers.paddlenlp import BACKEND as PADDLENLP
from crosscast_trainers.transformers import BACKEND as TRANSFORMERS

__all__ = ["ACCELERATE", "DEEPSPEED", "FABRIC", "LIGHTNING", "PADDLENLP", "TRANSFORMERS"]
