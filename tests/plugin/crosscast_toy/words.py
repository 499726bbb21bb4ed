"""Names of toygrad."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words

WORDS = Words(
    packages=(FrameworkPackages("toygrad", own=("toygrad",), steps=("AdamW", "backward")),),
    signatures={
        "toygrad.AdamW": "groups betas eps",
        "toygrad.clip_grad_norm": "weights most eps",
        "toygrad.clip_norm": "weights most",
    },
)
