"""The recipe section for metrics."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crosscast.recipe.section import FactoryName, Section

METRIC_PATTERN = r"^[A-Za-z][A-Za-z0-9_]{0,31}$"
MetricName = Annotated[str, Field(pattern=METRIC_PATTERN)]


class Metrics(Section):
    """What an evaluation reports besides the loss, and the accuracy where the loss has one."""

    custom: dict[MetricName, Annotated[dict[str, FactoryName], Field(min_length=1)]] = {}  # noqa: RUF012  (pydantic copies it)
    """Maps names of metrics to a function for every backend, `package.module:function`, at most 200
    characters. The function takes the model and a dict of tensors by array name, as a custom loss
    does; it returns one number per row, with `normalize_by: token` one per label, 0 where the label
    is -100. The evaluation reports their mean. A name has at most 32 letters, digits and
    underscores; it is not `loss` or `accuracy` and does not start with `ema_`."""
