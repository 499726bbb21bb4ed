"""Why some bugs survive the quick check, in words for the page."""

from __future__ import annotations

SURVIVORS: dict[str, str] = {
    "amsgrad": "the largest second moment so far is the current one almost everywhere as long as"
    " the moments still grow from zero, that is for the first windows that are replayed; later the"
    " difference stays below the noise of the loss."
}
