"""Names and models that packages bring: rules and migrations know them, what is wrong is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast.targets.source_support import SourceSupport, installed_support
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.models import installed as models
from crosscast_reading.pysource.libraries import roles, words
from installed_packages import Install, installing, messages_of


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Replace what is installed by some entry points, by name."""
    yield from installing(monkeypatch, tmp_path)


def test_words_that_do_not_load_aremessages_of(install: Install) -> None:
    text = (
        "from crosscast_reading.pysource.libraries.words import Words\n"
        "WORDS = Words(signatures={'their.f': 'a b'})\n"
    )
    install(
        {"names.py": text},
        one=SourceSupport(words="their.names:WORDS"),
        two=SourceSupport(words="their.names:OTHER"),
    )
    assert words.merged(lambda found: found.signatures) == {"their.f": "a b"}
    assert messages_of(words.words_problems()) == [
        "words their.names:OTHER does not load: module 'their.names' has no attribute 'OTHER'"
    ]


def test_rules_know_the_classes_of_a_package_by_their_roles(install: Install) -> None:
    text = (
        "from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words\n"
        "PACKAGES = (FrameworkPackages('their', own=('their',)),)\n"
        "WORDS = Words(packages=PACKAGES, roles={'optimizer': r'their\\.Opt'})\n"
    )
    head, _ = text.split("PACKAGES", 1)
    install(
        {
            "names.py": text,
            "unknown.py": f"{head}WORDS = Words(roles={{'optimiser': 'their.Opt'}})\n",
            "broken.py": f"{head}WORDS = Words(roles={{'saves': '('}})\n",
        },
        one=SourceSupport(words="their.names:WORDS"),
        two=SourceSupport(words="their.unknown:WORDS"),
        three=SourceSupport(words="their.broken:WORDS"),
    )
    assert roles.has_role("their.Opt", "scaler", "optimizer")
    assert not any(
        roles.has_role(name, "optimizer")
        for name in ("their.Opt.step", "my.their.Opt", "theirs.Opt")
    )
    assert not roles.has_role("their.Opt", "schedule", "saves")
    assert not roles.has_role("torch.optim.AdamW", "optimizer")  # its package is not installed here
    assert messages_of(words.words_problems()) == [
        "words their.broken:WORDS does not load: missing ), unterminated subpattern at position 0",
        "words their.unknown:WORDS does not load: roles has 'optimiser', which is no role",
    ]


MODELS = """
from crosscast_migrate.models.tables import ModelTables

MODELS = ModelTables(backend="their", title="Their", channels="last")
AGAIN = ModelTables(backend="their", title="Their", channels="last")
"""


def test_models_that_do_not_load_aremessages_of(install: Install) -> None:
    text = f"{MODELS}\nOTHER = object()\n"
    install(
        {"models.py": text, "bad.py": MODELS.replace('"last"', '"last", reading=1')},
        one=SourceSupport(models="their.models:MODELS"),
        two=SourceSupport(models="their.models:OTHER"),
        three=SourceSupport(models="their.models:AGAIN"),
        four=SourceSupport(models="their.bad:MODELS"),
    )
    assert list(models.model_tables()) == ["their"]
    assert messages_of(models.model_problems()) == [
        "models their.bad:MODELS does not load: reading is no ModelReading",
        "models their.models:AGAIN does not load: the models of their are taken",
        "models their.models:OTHER does not load: it is no ModelTables",
    ]


TORCH = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
"""


def test_a_migration_across_frameworks_says_what_does_not_load(install: Install) -> None:
    install(**dict(installed_support()), gone=SourceSupport(models="their.gone:MODELS"))
    moved = migrate_across([Source("a.py", TORCH)], ["paddle"])
    said = [problem.message for problem in moved.diagnostics if problem.code == "CC955"]
    assert said == ["models their.gone:MODELS does not load: No module named 'their.gone'"]
    assert "nn.Linear(" in moved.files["paddle/own_model.py"].text


def test_without_its_tables_a_framework_has_no_models(install: Install) -> None:
    own = dict(installed_support())
    for name, reason in (
        ("paddle", "models are not written for this framework"),
        ("torch", "models of this framework are not read"),
    ):
        install(**own | {name: replace(own[name], models="")})
        moved = migrate_across([Source("a.py", TORCH)], ["paddle"])
        text = moved.files["paddle/own_model.py"].text
        assert reason in text
        assert "NotImplementedError" in text
