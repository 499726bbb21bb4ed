"""Configurations of trainers: a recipe as settings for the user's program."""

from __future__ import annotations

from crosscast_trainers.target.accelerate import BACKEND as ACCELERATE
from crosscast_trainers.target.deepspeed import BACKEND as DEEPSPEED
from crosscast_trainers.target.fabric import BACKEND as FABRIC
from crosscast_trainers.target.lightning import BACKEND as LIGHTNING
from crosscast_trainers.target.paddlenlp import BACKEND as PADDLENLP
from crosscast_trainers.target.transformers import BACKEND as TRANSFORMERS

__all__ = ["ACCELERATE", "DEEPSPEED", "FABRIC", "LIGHTNING", "PADDLENLP", "TRANSFORMERS"]
