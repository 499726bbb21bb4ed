"""Arguments of autocast contexts."""

from __future__ import annotations

from crosscast.facts.vocabulary import HALVES
from crosscast.pysource.values.value import Known, Symbol
from crosscast.readers.words import TYPES
from crosscast.trainstep.events import Context


def dtype_of(context: Context, *, defaults: bool = False) -> str:
    """Return `float16` or `bfloat16`; empty for another or an uncertain dtype.

    Args:
        context: a region of autocast.
        defaults: whether the default of a flag decides; otherwise it leaves the dtype open.
    """
    given = context.detail.get("dtype")
    if given is None or (isinstance(given, Known) and given.value is None):
        return _default(context)
    if isinstance(given, Known) and given.flag and not defaults:
        return ""
    word = given.name if isinstance(given, Symbol) else getattr(given, "value", "")
    dtype = TYPES.get(str(word).removeprefix("torch.").removeprefix("paddle."), "")
    return dtype if dtype in HALVES else ""


def _default(context: Context) -> str:
    if context.name.startswith(("torch.cuda.amp.", "paddle.amp.")):
        return "float16"
    if context.name in ("torch.autocast", "torch.amp.autocast"):
        return {"cuda": "float16", "cpu": "bfloat16"}.get(device_of(context), "")
    return ""


def device_of(context: Context) -> str:
    """Return the device type of `torch.autocast`; empty if it is not certain."""
    if context.name.startswith("torch.cuda.amp."):
        return "cuda"
    given = context.detail.get("device_type")
    if isinstance(given, Known) and isinstance(given.value, str) and not given.flag:
        return given.value.partition(":")[0]
    return ""


def is_on(context: Context) -> bool:
    """Whether the context is not certainly disabled."""
    given = context.detail.get("enabled", context.detail.get("enable"))
    return not (isinstance(given, Known) and given.value is False and not given.flag)


def always_on(context: Context) -> bool:
    """Whether the context is certainly enabled."""
    given = context.detail.get("enabled", context.detail.get("enable"))
    if context.guards:
        return False
    return given is None or (isinstance(given, Known) and given.value is True and not given.flag)
