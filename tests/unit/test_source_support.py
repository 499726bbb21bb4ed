"""What packages know of programs is found by entry points; what does not load is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import crosscast
from crosscast.messages import chinese
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast.targets import backend
from crosscast.targets.source_support import (
    Era,
    MigrationApi,
    SourceSupport,
    installed_support,
    migration_apis,
    support_problems,
)
from crosscast_migrate import registry as codemods
from crosscast_migrate.models import installed as models
from crosscast_reading.lint import registry as rules
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.pysource.libraries import words
from crosscast_reading.readers import registry as readers
from installed_packages import Install, installing, messages_of


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Replace what is installed by some entry points, by name."""
    yield from installing(monkeypatch, tmp_path)


def test_a_package_that_does_not_load_ismessages_of(install: Install) -> None:
    install(good=SourceSupport(), gone=ImportError("no"), other=object())
    assert list(installed_support()) == ["good"]
    assert messages_of(support_problems()) == [
        "'gone' of crosscast.source_support does not load: no",
        "'other' of crosscast.source_support does not load: it is no SourceSupport",
    ]
    results = lint_sources([Source("a.py", "import torch\nloss.backward()\noptimizer.step()\n")])
    assert [result.code for result in results].count("CC955") == 2


def test_readers_that_do_not_load_aremessages_of(install: Install) -> None:
    text = (
        "class Reader:\n    name, hints = 'good', ()\n"
        "    def read(self, program):\n        return ()\nREADER = Reader()\nBAD = object()\n"
    )
    places = {"good": "READER", "bad": "BAD", "absent": "ABSENT"}
    support = SourceSupport(
        python_readers={name: f"their.reader:{place}" for name, place in places.items()},
        text_readers={"broken": "their.none:READER"},
    )
    install({"reader.py": text}, one=support)
    assert [reader.name for reader in readers.python_readers()] == ["good"]
    assert messages_of(readers.python_problems()) == [
        "reader 'absent' (their.reader:ABSENT) does not load: "
        "module 'their.reader' has no attribute 'ABSENT'",
        "reader 'bad' (their.reader:BAD) does not load: it has no 'read'",
    ]
    assert readers.text_readers() == ()
    assert messages_of(readers.text_problems()) == [
        "reader 'broken' (their.none:READER) does not load: No module named 'their.none'"
    ]


FORM = """
from crosscast_reading.lint.rule import RuleForm
FORMS = (RuleForm(rule="CL996", check=lambda subject: ()),)
"""
RULE = """
from crosscast_reading.lint.rule import Rule
RULE = Rule(
    code="{code}", name="{name}", topic="launch", severity="error", title="t", why="w",
    wrong="", right="", check=lambda subject: (),
)
"""


def test_rules_that_do_not_load_aremessages_of(install: Install) -> None:
    files = {
        "rules/launch/a_good.py": RULE.format(code="CL997", name="good"),
        "rules/launch/b_same.py": RULE.format(code="CL997", name="same"),
        "rules/launch/c_code.py": RULE.format(code="X1", name="code"),
        "rules/launch/d_broken.py": "import absent_package\n",
        "rules/launch/_shared.py": "raise RuntimeError\n",
        "rules/launch/e_form.py": "FORMS = (object(),)\n",
        "rules/launch/f_lost.py": FORM,
        "rules/launch/g_other.py": "RULE = object()\n",
    }
    install(files, one=SourceSupport(rules="their.rules"), two=SourceSupport(rules="their.none"))
    assert list(rules.all_rules()) == ["CL997"]
    assert messages_of(rules.rule_problems()) == [
        "rule their.rules.launch.b_same does not load: CL997 same is malformed or taken",
        "rule their.rules.launch.c_code does not load: X1 code is malformed or taken",
        "rule their.rules.launch.d_broken does not load: No module named 'absent_package'",
        "rule their.rules.launch.e_form does not load: FORMS has something that is no RuleForm",
        "rule their.rules.launch.g_other does not load: RULE is no Rule",
        "rules their.none does not load: No module named 'their.none'",
        "rule their.rules.launch.f_lost does not load: no rule CL996",
    ]


WRONG: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (SourceSupport, {"eras": ("their.codemods",)}),
    (SourceSupport, {"apis": ("their2",)}),
    (SourceSupport, {"changes": ("clip-twice",)}),
    (SourceSupport, {"python_readers": ("their.reader:READER",)}),
    (words.Words, {"packages": ("their",)}),
    (words.Words, {"signatures": ("their.f",)}),
]


@pytest.mark.parametrize(("kind", "arguments"), WRONG)
def test_what_has_another_type_is_refused_at_once(
    kind: Callable[..., object], arguments: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="no "):
        kind(**arguments)


def test_a_failure_of_an_experimental_migration_ismessages_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(subject: object) -> tuple[()]:
        raise RuntimeError("oops")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("import torch\nscaler = torch.cuda.amp.GradScaler()\n")
    for code, codemod in codemods.all_codemods().items():
        monkeypatch.setitem(codemods._load()[0], code, replace(codemod, run=fails))
    moved = crosscast.migrate("a.py", "torch.amp")
    assert "CC950" in {problem.code for problem in moved.diagnostics}
    assert not moved.ok


def era(package: str) -> Era:
    return Era(name=package, title=package, codemods=package)


CODEMOD = """
from crosscast_migrate.codemod import Codemod
CODEMOD = Codemod(
    code="{code}", name="{code}", api="{api}", title="t", hints=(), examples=(),
    run=lambda subject: (),
)
"""


def test_codemods_that_do_not_load_aremessages_of(install: Install) -> None:
    files = {
        "codemods/a_good.py": CODEMOD.format(code="CM901", api="their2"),
        "codemods/b_other.py": CODEMOD.format(code="CM902", api="their3"),
        "codemods/c_broken.py": "import absent_package\n",
    }
    api = MigrationApi(name="their2", codes="CM9", modules=("their",))
    install(
        files,
        one=SourceSupport(eras=(era("their.codemods"),), apis=(api,)),
        two=SourceSupport(eras=(era("their.none"),)),
    )
    assert [codemod.code for codemod in codemods.codemods_to("their2")] == ["CM901"]
    assert messages_of(codemods.codemod_problems()) == [
        "codemod their.codemods.b_other does not load: CM902 migrates to an unknown API, 'their3'",
        "codemod their.codemods.c_broken does not load: No module named 'absent_package'",
        "codemods their.none does not load: No module named 'their.none'",
    ]


def test_a_package_brings_its_translations(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "hints.json").write_text('{"add a toy": "添加玩具"}')
    (folder / "codes.json").write_text(
        '{"CC999": {"of": "", "title": "玩具", "help": ""}, '
        '"CC001": {"of": "", "title": "玩具", "help": ""}}'
    )
    before = chinese.entry("CC001")
    monkeypatch.setattr(chinese, "_FOLDERS", [*chinese._FOLDERS])
    install(one=SourceSupport(texts=folder))
    installed_support()
    assert chinese.hint("add a toy") == "添加玩具"
    added = chinese.entry("CC999")
    assert added is not None
    assert added["title"] == "玩具"
    assert chinese.entry("CC001") == before


@pytest.mark.parametrize("text", ["{", "[]", '{"CC999": 1}', '{"CC999": {"title": "t"}}', "\xff"])
def test_translations_that_cannot_be_read_leave_english(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("codes", "rules", "hints"):
        (folder / f"{name}.json").write_bytes(text.encode("latin-1"))
    monkeypatch.setattr(chinese, "_FOLDERS", [*chinese._FOLDERS])
    install(one=SourceSupport(texts=folder))
    installed_support()
    assert chinese.entry("CC999") is None
    assert chinese.entry("CC001") is not None
    assert chinese.hint("CC999") == "CC999"


def test_a_backend_without_a_part_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(load=lambda: SimpleNamespace(name="old"))
    monkeypatch.setattr(backend, "_entry_points", lambda: {"old": entry})
    with pytest.raises(DiagnosticError) as found:
        backend.load_backend("old")
    assert [problem.code for problem in found.value.diagnostics] == ["CC107"]


def test_a_migration_says_once_what_does_not_load(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs are read, and each would say it."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(
            "import torch\nscaler = torch.cuda.amp.GradScaler()\nscaler.scale(loss).backward()\n"
            "scaler.step(optimizer)\nscaler.update()\n"
        )
    real = dict(installed_support())
    install(**real, gone=ImportError("no"))
    moved = crosscast.migrate(["a.py", "b.py"], "torch.amp", experimental=True)
    assert moved.ok is False
    assert [problem.code for problem in moved.diagnostics] == ["CC955"]


def test_what_crosscast_brings_loads() -> None:
    assert installed_support().keys() >= {"general", "torch", "tensorflow", "paddle", "trainers"}
    problems = (
        *support_problems(),
        *readers.text_problems(),
        *readers.python_problems(),
        *rules.rule_problems(),
        *codemods.codemod_problems(),
        *words.words_problems(),
        *models.model_problems(),
    )
    assert messages_of(problems) == []
    assert list(models.model_tables())[:4] == ["jax", "paddle", "tensorflow", "torch"]
    assert list(migration_apis())[:4] == ["torch.amp", "keras3", "paddle3", "tf.compat.v1"]
