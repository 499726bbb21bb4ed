"""`parity` from Python: verdicts, the page in a notebook, and which files are left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import crosscast as cc
from crosscast_parity.judge.records import ParityReport
from parity_reports import broken, different, equivalent
from recipe_texts import text_of


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Comparisons are not made; return what was asked for, and take the report from it."""
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text_of(), encoding="utf-8")
    asked: dict[str, Any] = {"report": equivalent()}

    def compare(contestants: Any, **arguments: Any) -> ParityReport:
        asked.update(arguments, folder=arguments["options"].workdir)
        asked["existed"] = asked["folder"].is_dir()
        report: ParityReport = asked["report"]
        return report

    monkeypatch.setattr("crosscast_parity.compare.harness.compare", compare)
    monkeypatch.setattr(
        "crosscast_parity.modules.outputs.render_page", lambda report, *models: ("<b>page</b>", [])
    )
    return asked


def test_without_a_folder_nothing_is_left(
    made: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = cc.parity("r.yaml", ["torch", "paddle"], windows=8, fault="none", python=[])
    assert found.ok
    assert set(found.verdicts.values()) == {"EQUIVALENT"}
    assert made["existed"]
    assert not made["folder"].exists()
    assert (made["options"].windows, made["options"].faults) == (8, ())
    assert found.page is None
    assert {path.name for path in Path().iterdir()} == {"r.yaml"}
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_verdicts_and_the_page() -> None:
    found = cc.parity("r.yaml", "torch,tensorflow")
    text = found._repr_html_()
    assert "<b style=" in text
    assert 'srcdoc="&lt;b&gt;page&lt;/b&gt;"' in text
    assert found.html == "<b>page</b>"
    assert "EQUIVALENT" in str(found)
    assert "EQUIVALENT" in repr(found)


@pytest.mark.parametrize(
    ("report", "verdict"), [(different(), "DIFFERENT"), (broken(), "ERROR")], ids=str
)
def test_a_difference_is_a_result(made: dict[str, Any], report: ParityReport, verdict: str) -> None:
    made["report"] = report
    found = cc.parity("r.yaml", "torch,tensorflow")
    assert not found.ok
    assert verdict in found.verdicts.values()
    assert found.to_json()["pairs"]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(cc.DiagnosticError, match="CC306"):
        cc.parity("r.yaml", "deepspeed")
    with pytest.raises(cc.DiagnosticError, match="CC016"):
        cc.parity("r.yaml", "torch", check="quickly")  # type: ignore[arg-type]
    with pytest.raises(cc.DiagnosticError, match="CC016"):
        cc.parity("r.yaml", "torch", twins=-1)
    with pytest.raises(cc.DiagnosticError, match="CC707"):
        cc.parity("r.yaml", "torch", half="emulated", device="gpu")
