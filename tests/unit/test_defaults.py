"""Tables of default values: windows of versions, completeness, and what is printed of them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.targets.backend import backend_names, find_target, load_backend
from crosscast.targets.capability import Evidence, Verdict
from crosscast.targets.default_tables import default_rows, defaults_page
from crosscast.targets.defaults import Defaults, find_defaults, holding, version_number
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from recipe_strategies import COMPILED, LAYERS, TARGETS

BACKENDS = [load_backend(name) for name in COMPILED]
EVERY = [entry for backend in BACKENDS for entry in backend.defaults] + [*LIBRARY_DEFAULTS]
OLD = Defaults(
    api="a.B", package="a", until="2.10", arguments={"x": 1}, measured=("1.0",), source="s"
)
NEW = replace(OLD, since="2.10", until="", arguments={"x": 2}, measured=())


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("2.13.0+cpu", (2, 13, 0)),
        ("3.0.0rc1", (3, 0, 0)),
        ("3.0.0b2", (3, 0, 0)),
        ("2.6", (2, 6)),
        ("10.2.dev1", (10, 2)),
        ("nightly", ()),
        ("", ()),
    ],
)
def test_version_numbers(version: str, number: tuple[int, ...]) -> None:
    assert version_number(version) == number


def test_windows_include_their_start_and_not_their_end() -> None:
    assert OLD.holds("2.9.9")
    assert not OLD.holds("2.10")
    assert not OLD.holds("2.10.1")
    assert NEW.holds("2.10")
    assert NEW.holds("2.10.0+cpu")
    assert not NEW.holds("2.9.9")


def test_the_entry_of_a_version_and_the_newest() -> None:
    table = (OLD, NEW, replace(NEW, form="other", arguments={"x": 3}))
    assert find_defaults(table, "a.B", "2.2") is OLD
    assert find_defaults(table, "a.B", "2.11") is NEW
    assert find_defaults(table, "a.B") is NEW
    assert find_defaults(table, "a.B", form="other") is table[2]
    assert find_defaults(table, "a.C") is None


def test_only_entries_of_installed_packages_hold() -> None:
    assert list(holding((OLD, NEW), {"a": "2.10", "b": "1"})) == [NEW]
    assert list(holding((OLD, NEW), {"b": "2.10"})) == []


def test_evidence_is_measured_where_a_probe_ran_within_the_window() -> None:
    assert OLD.evidence is Evidence.MEASURED_CPU
    assert NEW.evidence is Evidence.DOCUMENTED
    assert NEW.measured_on(("1.0", "2.10", "3.0")).measured == ("2.10", "3.0")


def test_windows_of_one_api_do_not_overlap() -> None:
    entries = defaultdict(list)
    for entry in EVERY:
        entries[entry.package, entry.api, entry.form].append(entry)
    for same in entries.values():
        for left_side, other in combinations(same, 2):
            first, second = sorted((left_side, other), key=lambda e: version_number(e.since))
            assert first.until, first
            assert version_number(first.until) <= version_number(second.since), first


@pytest.mark.parametrize("entry", EVERY, ids=lambda case: f"{case.package} {case.api} {case.since}")
def test_entries_are_complete(entry: Defaults) -> None:
    assert entry.arguments or entry.fixed
    assert entry.source
    for bound in (entry.since, entry.until):
        assert re.fullmatch(r"(\d+(\.\d+)*)?", bound)
    assert all(entry.holds(version) for version in entry.measured)
    assert all(re.fullmatch(r"\w+(\.\w+)+", path) for path in entry.fixed)


@pytest.mark.parametrize(
    ("target", "api", "version", "argument", "value"),
    [
        ("torch", "torch.amp.GradScaler", "2.9", "growth_interval", 2000),
        ("torch", "torch.cuda.amp.GradScaler", "1.7", "init_scale", 2.0**16),
        ("tensorflow", "keras.optimizers.LossScaleOptimizer", "3.2", "initial_scale", 2.0**15),
        ("tensorflow", "keras.optimizers.Adam", "3.15", "epsilon", 1e-7),
        ("tensorflow", "keras.layers.LayerNormalization", "3.0", "epsilon", 1e-3),
        ("paddle", "paddle.amp.GradScaler", "2.4", "init_loss_scaling", 2.0**15),
        ("paddle", "paddle.amp.GradScaler", "2.5", "init_loss_scaling", 2.0**16),
        ("paddle", "paddle.optimizer.Momentum", "3.1", "momentum", 0.9),
        ("jax", "optax.adamw", "0.1.0", "weight_decay", 1e-4),
        ("jax", "flax.nnx.LayerNorm", "0.11", "epsilon", 1e-6),
    ],
)
def test_what_a_reader_looks_up(
    target: str, api: str, version: str, argument: str, value: object
) -> None:
    entry = find_defaults(load_backend(target).defaults, api, version)
    assert entry is not None
    assert entry.arguments[argument] == value


@pytest.mark.parametrize(
    ("api", "version", "form", "lowest"),
    [
        ("torch.amp.GradScaler", "2.13", "", None),
        ("torch.cuda.amp.GradScaler", "1.7", "", None),
        ("torch.cuda.amp.GradScaler", "2.13", "", None),
        ("paddle.amp.GradScaler", "2.2", "", None),
        ("paddle.amp.GradScaler", "3.3", "", None),
        ("paddle.amp.AmpScaler", "3.3", "", None),
        ("paddle.static.amp.decorate", "3.3", "COMMON", 1.0),
        ("paddle.static.amp.decorate", "3.3", "FP16_ONLY", 1.0),
        ("paddle.fluid.contrib.mixed_precision.decorate", "1.8", "", 1.0),
        ("paddle.distributed.fleet.DistributedStrategy.amp_configs", "3.3", "keys", 1.0),
        ("keras.optimizers.LossScaleOptimizer", "3.15", "", None),
        ("tensorflow.keras.mixed_precision.LossScaleOptimizer", "2.12", "built", 1.0),
        ("tf_keras.mixed_precision.LossScaleOptimizer", "2.21", "built", 1.0),
        ("tensorflow.compat.v1.mixed_precision.DynamicLossScale", "2.12", "", 1.0),
        ("tensorflow.contrib.mixed_precision.ExponentialUpdateLossScaleManager", "1.15", "", 1.0),
        ("apex.fp16_utils.FP16_Optimizer", "", "", 1.0),
        ("apex.contrib.optimizers.FP16_Optimizer", "", "", 1.0),
    ],
)
def test_every_scaler_says_whether_it_has_a_lowest_scale(
    api: str, version: str, form: str, lowest: float | None
) -> None:
    entry = find_defaults(EVERY, api, version, form)
    assert entry is not None
    assert entry.fixed["loss_scaling.min_scale"] == lowest


@pytest.mark.parametrize(
    ("api", "argument", "lowest"),
    [
        ("apex.amp.initialize", "min_loss_scale", None),
        ("deepspeed fp16", "min_loss_scale", 1),
        ("megatron flags", "min-loss-scale", 1.0),
        ("flax.training.dynamic_scale.DynamicScale", "minimum_scale", 2.0**-126),
    ],
)
def test_lowest_scales_that_are_arguments(api: str, argument: str, lowest: float | None) -> None:
    entry = find_defaults(EVERY, api)
    assert entry is not None
    assert entry.arguments[argument] == lowest


def test_rates_that_old_versions_required_have_no_default() -> None:
    table = load_backend("torch").defaults
    old, new = (find_defaults(table, "torch.optim.SGD", v) for v in ("2.1", "2.2"))
    assert old is not None
    assert new is not None
    assert "lr" not in old.arguments
    assert new.arguments["lr"] == 1e-3


def test_every_value_is_printed() -> None:
    rows = default_rows(BACKENDS)
    assert len(rows) == sum(len(entry.arguments) + len(entry.fixed) for entry in EVERY)
    page = defaults_page(BACKENDS)
    for entry in EVERY:
        assert f"`{entry.api}`" in page
    assert "`init_loss_scaling=2**32`" in page


def test_backends_without_defaults_have_no_section() -> None:
    page = defaults_page([*BACKENDS, *(load_backend(name) for name in LAYERS)])
    assert page == defaults_page(BACKENDS)


def test_the_command_prints_them() -> None:
    result = CliRunner().invoke(app, ["matrix", "--defaults", "--json"])
    assert json.loads(result.stdout) == default_rows(BACKENDS)
    table = CliRunner().invoke(app, ["matrix", "--defaults", "--all"]).stdout
    assert {f"{row['name']}=" for row in default_rows(BACKENDS)} <= {
        *re.findall(r"[\w.-]+=", table)
    }
    assert {"init_scale=2**16", "backoff_factor=0.5", "enable=True"} <= {*re.split(r",?\s+", table)}
    page = CliRunner().invoke(app, ["matrix", "--defaults", "--markdown"]).stdout
    assert page == defaults_page(BACKENDS)


def test_the_command_counts_verdicts_by_dialect() -> None:
    rows = json.loads(CliRunner().invoke(app, ["matrix", "--dialects", "--json"]).stdout)
    targets = {row["target"] for row in rows}
    assert set(TARGETS) <= targets
    everyone = [load_backend(name) for name in backend_names()]
    assert len(rows) == sum(len(backend.dialects) for backend in everyone)
    assert all(row["exact"] + row["adapted"] > 0 for row in rows)
    assert {type(row[name]) for row in rows for name in map(str, Verdict)} == {int}


def test_default_values_are_json() -> None:
    rows = json.loads(CliRunner().invoke(app, ["matrix", "--defaults", "--json"]).stdout)
    found = {row["name"]: row["default"] for row in rows if row["api"] == "paddle.amp.GradScaler"}
    assert found["enable"] is True
    assert found["incr_ratio"] == 2.0
    assert isinstance(found["incr_every_n_steps"], int)
    assert {type(row["default"]) for row in rows} <= {bool, int, float, str, list, type(None)}
    assert any(isinstance(row["default"], list) for row in rows)
    assert any(row["default"] is None for row in rows)


def test_dialects_are_listed_by_the_names_that_to_takes() -> None:
    rows = json.loads(CliRunner().invoke(app, ["matrix", "--dialects", "--json"]).stdout)
    for row in rows:
        name = row["target"].partition("@")[0]
        named = find_target(f"{name}@{row['dialect']}")
        assert named.dialect == find_target(row["target"]).dialect
    assert {"torch.amp", "keras3", "dygraph"} <= {row["dialect"] for row in rows}
    table = CliRunner().invoke(app, ["matrix", "--dialects"]).stdout
    assert {row["target"] for row in rows} <= {*table.split()}
    assert all(f"dialect {row['dialect']}" in table for row in rows)
