"""What the public names of libraries are for: which ones make an optimizer, a schedule, …"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from crosscast_reading.pysource.libraries.words import Role, all_words


@lru_cache(maxsize=4096)
def has_role(name: str, *roles: Role) -> bool:
    """Whether a canonical dotted name has one of several roles: `torch.optim.AdamW`, optimizer."""
    return any(_pattern(role).fullmatch(name) for role in roles)


@cache
def _pattern(role: Role) -> re.Pattern[str]:
    """Return the pattern of the names of a role in all libraries that installed packages know."""
    patterns = [words.roles[role] for words in all_words() if role in words.roles]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")
