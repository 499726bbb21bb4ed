"""The base class of recipe sections and the types of their fields."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from crosscast.recipe.float32 import float32

# Patterns are matched by pydantic's Rust engine, where $ is only the very end of the text.
# 2**31-1: every framework can hold it in an int32 counter or shape.
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
CountOrZero = Annotated[int, Field(ge=0, le=2**31 - 1)]
# Frameworks compute in float32, and many kernels take subnormal numbers for 0. Within these
# bounds, a number and its inverse are normal float32 numbers.
SMALLEST, LARGEST = 2.0**-126, 2.0**126
Positive = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]
NonNegative = Annotated[float, Field(ge=0, le=LARGEST)]
# Its square is the smallest normal number.
ROOT_OF_SMALLEST = 2.0**-63
# Factors of weights and gradients: what they make is squared.
LARGEST_RATE = 2.0**32
Rate = Annotated[float, Field(ge=SMALLEST, le=LARGEST_RATE)]
RateOrZero = Annotated[float, Field(ge=0, le=LARGEST_RATE)]
# The largest float32 number below 1: larger ones would be rounded to 1.
BELOW_ONE = 1 - 2.0**-24
Fraction = Annotated[float, Field(ge=0, le=BELOW_ONE)]
# Every framework stores scales in float32: they are rounded here, once, so that all print equal
# values.
LossScale = Annotated[float, Field(ge=SMALLEST, le=LARGEST), AfterValidator(float32)]
SLUG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
# Paths are printed in scripts and messages: no control characters, line separators, invisible
# characters or direction marks.
PATH_PATTERN = r"^[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+$"
FACTORY_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
Slug = Annotated[str, Field(pattern=SLUG_PATTERN)]
FilePath = Annotated[str, Field(min_length=1, max_length=255, pattern=PATH_PATTERN)]
# Parameter names contain no spaces and need no quotes; no group of stars can make matching slow.
GLOB_PATTERN = r"^[A-Za-z0-9_./:*?\[\]!-]+$"
Glob = Annotated[str, Field(max_length=200, pattern=GLOB_PATTERN)]
FactoryName = Annotated[str, Field(max_length=200, pattern=FACTORY_PATTERN)]
ARRAY_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
# Name of an array of the rows, which is that of an argument.
ArrayName = Annotated[str, Field(pattern=ARRAY_PATTERN)]
Role = Literal["bias", "layer_norm", "embedding"]


class Section(BaseModel):
    """Base of all sections: frozen, no conversions, no unknown fields, finite numbers only."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )
