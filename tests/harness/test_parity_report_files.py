"""What programs read of a report: JSON with its schema, JUnit XML, plain text in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.judge.records import FORMAT, ParityReport
from crosscast_parity.processes.process import Outcome
from crosscast_parity.report.files import write_report
from crosscast_parity.report.junit import junit_text
from crosscast_parity.report.terminal import WIDTH, print_summary, summary_lines
from parity_reports import REPORTS, broken, different, envelope, equivalent, lone, nothing

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "schema" / f"parity-report-v{FORMAT}.json").read_text()
)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
TEXTS = {"report.json", "junit.xml", "badge.svg", "badge.json", "runs.json"}
EVIL = "a\x00\x1b[2J\x0c\ud800]]> <b> & \"'\u202e"


def strict_json(report: ParityReport) -> Any:
    return json.loads(json.dumps(report.to_json(), allow_nan=False))


# JSON


@pytest.mark.parametrize("kind", REPORTS)
def test_reports_follow_the_schema(kind: str) -> None:
    VALIDATOR.validate(strict_json(REPORTS[kind]()))


def test_the_schema_itself_is_one_and_allows_nothing_unknown() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    for node in objects(SCHEMA):
        assert "additionalProperties" in node, node
    assert SCHEMA["properties"]["format"] == {"const": FORMAT}
    assert SCHEMA["definitions"]["check"]["properties"]["level"]["enum"] == list(LEVELS)


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("pairs", 0, "verdict"), "SAME"),
        (("pairs", 0, "checks", 0, "level"), "L9"),
        (("pairs", 0, "checks", 0, "value"), "many"),
        (("runs", 0, "windows"), -1),
        (("runs", 0, "outcome", "kind"), "dead"),
        (("unknown",), 1),
    ],
)
def test_the_schema_refuses(path: tuple[Any, ...], value: Any) -> None:
    document = strict_json(equivalent())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)


def test_numbers_that_json_does_not_have_are_names() -> None:
    report = equivalent()
    spread = replace(envelope(), spread=(0.0, float("inf"), float("nan")))
    pair = replace(report.pairs[0], tensor_errors={"tiny/main": {"x": float("inf")}})
    report = replace(report, stages=(replace(report.stages[0], envelope=spread),), pairs=(pair,))
    document = strict_json(report)
    assert document["stages"][0]["envelope"]["spread"] == [0.0, "inf", "nan"]
    assert document["pairs"][0]["tensor_errors"]["tiny/main"]["x"] == "inf"
    VALIDATOR.validate(document)


def test_json_holds_the_log_only_of_runs_without_an_end() -> None:
    for run in strict_json(broken())["runs"]:
        ended = run["outcome"]["kind"] in ("finished", "stopped")
        assert ("log_tail" in run["outcome"]) is not ended


# files


def test_all_files_are_written_and_old_plots_removed(tmp_path: Path) -> None:
    page = write_report(different(), tmp_path / "out")
    assert page == tmp_path / "out" / "report.html"
    names = {path.name for path in page.parent.iterdir()}
    assert names == {"report.html", "plots", *TEXTS}
    plots = {path.name: path.read_bytes() for path in (page.parent / "plots").iterdir()}
    assert {"bisection-1.png", "tiny-loss.png", "tiny-gradients.png"} <= plots.keys()
    assert all(image.startswith(b"\x89PNG") for image in plots.values())
    write_report(nothing(), tmp_path / "out")
    assert list((page.parent / "plots").iterdir()) == []


@pytest.mark.usefixtures("without_figures")
def test_text_that_no_encoding_holds_can_be_written(tmp_path: Path) -> None:
    page = write_report(broken(EVIL), tmp_path)
    assert "&lt;b&gt;" in page.read_text(encoding="utf-8")
    assert strict_json(broken(EVIL)) == json.loads((tmp_path / "report.json").read_text())


def test_names_of_plots_stay_in_their_folder(tmp_path: Path) -> None:
    report, name = lone(), "../../x/y"
    runs = tuple(replace(run, stage=name) for run in report.runs if run.name == "main")
    report = replace(report, stages=(replace(report.stages[0], name=name),), runs=runs)
    write_report(report, tmp_path / "a" / "b")
    plots = list(tmp_path.rglob("*.png"))
    assert plots
    assert {path.parent for path in plots} == {tmp_path / "a" / "b" / "plots"}


def test_a_folder_that_cannot_be_written_is_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError, match="CC708"):
        write_report(nothing(), tmp_path / "file")


# JUnit


def suites(report: ParityReport) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(junit_text(report)))


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("text", ["", EVIL])
def test_junit_is_well_formed_and_counts_right(kind: str, text: str) -> None:
    report = REPORTS[kind](text)
    root = ElementTree.fromstring(junit_text(report).encode())
    assert root.tag == "testsuites"
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.get("name")
        names = [(case.get("classname"), case.get("name")) for case in suite]
        assert len(set(names)) == len(names) == int(suite.get("tests", "-1"))
        for attribute, tag in (("failures", "failure"), ("errors", "error")):
            assert int(suite.get(attribute, "-1")) == len(suite.findall(f"*/{tag}"))
            totals[attribute] += len(suite.findall(f"*/{tag}"))
        totals["tests"] += len(suite)
        for case in suite:
            marks = [child.tag for child in case if child.tag != "system-out"]
            assert len(marks) <= 1
            assert set(marks) <= {"failure", "error", "skipped"}
    assert {key: int(root.get(key, "-1")) for key in totals} == totals


def test_one_suite_per_pair_and_one_case_per_check() -> None:
    report = equivalent()
    first, second, own = suites(report)
    assert first.get("name") == "tensorflow against torch"
    assert len(first) == len(report.pairs[0].checks) + 1  # and the verdict
    assert len(second) == len(report.pairs[1].checks) + 1
    assert own.get("name") == "torch on its own"
    assert [suite.get("failures") for suite in (first, second, own)] == ["0", "0", "0"]
    assert first.get("skipped") == "1"


def test_junit_tells_failures_errors_and_skips_apart() -> None:
    _, wrong, _ = suites(different())
    failures = {case.get("name"): case.find("failure") for case in wrong if len(case)}
    verdict = failures["verdict"]
    assert verdict is not None
    assert verdict.get("type") == "DIFFERENT"
    assert failures["scale (tiny/faults)"] is not None
    assert failures["rows (tiny/faults)"] is None
    crashed, missing, _ = suites(broken())
    assert (crashed.get("errors"), crashed.get("failures")) == ("2", "0")
    assert (missing.get("errors"), missing.get("skipped")) == ("0", "3")
    assert "RuntimeError: no memory" in "".join(crashed.itertext())


def test_what_cannot_be_decided_never_passes() -> None:
    report = equivalent()
    unclear = Check(level="L2", name="trajectory", result="unclear", wording="too chaotic")
    pair = replace(report.pairs[0], verdict="INCONCLUSIVE", checks=(unclear, unclear))
    suite = suites(replace(report, pairs=(pair,)))[0]
    assert suite.get("failures") == "3"
    assert [case.get("name") for case in suite] == ["verdict", "trajectory", "trajectory [2]"]
    assert {found.get("type") for found in suite.iter("failure")} == {"INCONCLUSIVE"}


def test_a_lone_program_that_died_is_an_error() -> None:
    report = lone()
    dead = Outcome(kind="timeout", message="killed after 60 s")
    runs = tuple(replace(run, outcome=dead) for run in report.runs)
    (suite,) = suites(replace(report, runs=runs))
    assert suite.get("errors") == "2"


def test_a_planted_bug_that_nothing_saw_is_a_failure() -> None:
    (suite,) = suites(REPORTS["self_test"]())
    assert (suite.get("name"), suite.get("failures")) == ("self-test", "1")


# terminal


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("text", ["", EVIL, "word " * 80, "wörter\nand\ttabs " * 9])
def test_the_summary_fits_a_terminal(kind: str, text: str) -> None:
    lines = summary_lines(REPORTS[kind](text))
    assert lines
    for line in lines:
        assert len(line) <= WIDTH, line
        assert line.isprintable(), line


def test_the_summary_says_verdict_levels_and_troubles() -> None:
    lines = summary_lines(different(), files=[Path("out/report.html")])
    assert "tensorflow against torch: EQUIVALENT" in lines
    assert "paddle against torch: DIFFERENT" in lines
    assert any("L0a = FAIL" in line for line in lines)
    assert any("L0c = ok" in line for line in lines)
    assert "  FAIL L0a scale (tiny/faults): window 9: 1024, expected 512 (10 of 19)" in lines
    assert any(line.startswith("  cause: optimizer.weight_decay") for line in lines)
    assert "not exercised: loss_scaling.max_scale, ema.decay" in lines
    assert lines[-1] == "html: out/report.html"


def test_many_troubles_are_cut_short() -> None:
    report = equivalent()
    bad = [
        Check(level="L0a", name="rows", result="fail", wording="off", stage=f"tiny-{n}")
        for n in range(9)
    ]
    unclear = Check(level="gate", name="traces", result="unclear", wording="?")
    pair = replace(report.pairs[0], checks=(unclear, *bad))
    lines = summary_lines(replace(report, pairs=(pair,)))
    assert sum("FAIL L0a rows" in line for line in lines) == 6
    assert "  and 4 more: see the report" in lines


def test_print_is_plain_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(different())
    printed = capsys.readouterr().out
    assert printed.splitlines() == summary_lines(different())
    assert "\x1b" not in printed


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_colours_unless_it_wants_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, no_color: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    print_summary(different())
    assert ("\x1b[" in capsys.readouterr().out) is not no_color
