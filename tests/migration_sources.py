"""Training scripts of the frameworks, written for tests of migrations; short and complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from program_files import files_in

_FILES = files_in(Path(__file__).with_suffix(".md"))
TORCH = _FILES["torch.py"]
APEX = _FILES["apex.py"]
SUMMED = _FILES["summed.py"]
CLIPS_SCALED = _FILES["clips_scaled.py"]
UNSCALED = _FILES["unscaled.py"]
KERAS = _FILES["keras.py"]
PADDLE = _FILES["paddle.py"]
LAUNCH = _FILES["launch.sh"]
LAUNCH_COMMENT = _FILES["launch_comment.sh"]
OWN_MODEL = TORCH.replace("nn.Linear(16, 3).cuda()", "model_of(16)")
"""Its model cannot be read."""
APEX_TYPO = APEX.replace("amp.scale_loss", "amp.scaled_loss")
NOTHING = "def add(a, b):\n    return a + b\n"
"""A program that trains nothing."""


def with_experimental(words: Iterable[object]) -> list[str]:
    """Return the words of a command; a migration in place is asked for although experimental."""
    texts = [*map(str, words)]
    return texts if "-o" in texts or "--list-changes" in texts else [*texts, "--experimental"]
