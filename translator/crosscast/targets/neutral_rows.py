"""Rows that apply to every framework, because they concern only the recipe."""

from __future__ import annotations

from functools import cache

from crosscast.recipe import predicates
from crosscast.recipe.document import CustomLoss, CustomModel, Recipe
from crosscast.targets.capability import Row, Verdict


def _own_types(recipe: Recipe) -> bool:
    return isinstance(recipe.model, CustomModel) and bool(recipe.half)


def _uneven_tail(recipe: Recipe) -> bool:
    return recipe.processes > 1 and recipe.accumulation.tail in ("flush", "flush_renormalized")


def _own_loss(recipe: Recipe) -> bool:
    return isinstance(recipe.loss, CustomLoss)


def _no_average(recipe: Recipe) -> bool:
    return recipe.ema.decay is None


def _keeps_activations(recipe: Recipe) -> bool:
    return not recipe.activation_checkpointing


NEUTRAL_ROWS = (
    Row(
        path="loss.function",
        verdict=Verdict.APPROXIMATE,
        how="your function computes the losses; whether it is the same one everywhere is not seen",
        code="CC308",
        probe="frameworks/test_losses.py::test_a_loss_of_the_user_is_called",
        when=_own_loss,
    ),
    Row(
        path="metrics.custom",
        verdict=Verdict.APPROXIMATE,
        how="your functions compute them; whether they are the same ones everywhere is not seen",
        code="CC308",
        probe="frameworks/test_losses.py::test_an_evaluation_has_the_mean_of_a_metric",
        when=predicates.own_metrics,
    ),
    Row(path="metrics", how="none of your own"),
    Row(path="loss", how="one loss per row, in float32, before they are added"),
    Row(path="ema", how="no average of the weights", when=_no_average),
    Row(path="activation_checkpointing", how="activations are kept", when=_keeps_activations),
    Row(path="launch", how="launch.sh on every node, and job.sbatch where SLURM is to start it"),
    Row(
        path="model.factory",
        verdict=Verdict.APPROXIMATE,
        how="unused weights, extra losses and layers of your model behave as the framework has it",
        code="CC302",
        probe="frameworks/test_own_models.py::test_unused_and_tied_weights_train",
        when=predicates.own_model,
    ),
    Row(
        path="precision.ops",
        verdict=Verdict.APPROXIMATE,
        how="which operations of your model run in half is the framework's choice",
        code="CC303",
        probe="frameworks/test_own_models.py::test_types_are_the_choice_of_the_framework",
        when=_own_types,
    ),
    Row(
        path="accumulation.tail",
        verdict=Verdict.APPROXIMATE,
        how="a short last window with fewer rows than processes is left out",
        code="CC304",
        probe="frameworks/test_short_windows.py::test_a_window_with_too_few_rows_is_left_out",
        when=_uneven_tail,
    ),
)


def is_elastic(recipe: Recipe) -> bool:
    """Whether failed processes are restarted."""
    return recipe.launch.rendezvous == "elastic"


@cache
def neutral_rows(target: str) -> tuple[Row, ...]:
    """Return these rows and those for the functions of the user that the target needs."""

    def no_factory(recipe: Recipe) -> bool:
        return isinstance(recipe.model, CustomModel) and target not in recipe.model.factory

    def no_loss(recipe: Recipe) -> bool:
        return isinstance(recipe.loss, CustomLoss) and target not in recipe.loss.function

    def no_metric(recipe: Recipe) -> bool:
        return any(target not in functions for functions in recipe.metrics.custom.values())

    missing = Row(
        path="model",
        verdict=Verdict.UNSUPPORTED,
        how=f"model.factory names no function for {target}: "
        f"add `{target}: module:function`, or leave {target} out of --to",
        code="CC305",
        probe="unit/test_capability.py::test_a_model_without_a_factory_is_refused",
        when=no_factory,
    )
    missing_loss = Row(
        path="loss",
        verdict=Verdict.UNSUPPORTED,
        how=f"loss.function names no function for {target}: "
        f"add `{target}: module:function`, or leave {target} out of --to",
        code="CC307",
        probe="unit/test_capability.py::test_a_loss_without_a_function_is_refused",
        when=no_loss,
    )
    missing_metric = Row(
        path="metrics.custom",
        verdict=Verdict.UNSUPPORTED,
        how=f"metrics.custom has a metric without a function for {target}: "
        f"add `{target}: module:function`, or leave {target} out of --to",
        code="CC307",
        probe="unit/test_capability.py::test_a_metric_without_a_function_is_refused",
        when=no_metric,
    )
    return (missing, missing_loss, missing_metric, *NEUTRAL_ROWS)
