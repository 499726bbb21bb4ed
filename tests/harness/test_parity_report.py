"""The page: complete, escaped, and alone on this machine."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from crosscast.canonical import canonical_plan
from crosscast_parity.levels.machine import check_machine
from crosscast_parity.levels.traces import Dtype, measure_envelope
from crosscast_parity.process import Outcome
from crosscast_parity.records import ParityReport, Role, Run
from crosscast_parity.report import render_page
from crosscast_parity.status import Evaluation, Status
from crosscast_parity.traces import Row
from crosscast_parity.verdict import judge_pair
from parity_fakes import good_rows, make_recipe

EVIL = "</pre><script>alert('x')</script><img src=https://example.com/x.png> $x^2$ {{ 1 }}"
VOID = {"meta", "link", "img", "br"}


def make_run(target: str, rows: list[Row], role: Role = "main", text: str = "") -> Run:
    status = Status(
        status="finished",
        eval=Evaluation(loss=0.5, accuracy=0.75),
        device=text or "cpu",
        versions={text or "numpy": text or "2.3"},
    )
    return Run(
        name=f"{target}-{role}",
        target=target,
        role=role,
        outcome=Outcome(kind="finished", seconds=1.5, status=status),
        rows=tuple(rows),
        checks=check_machine(canonical_plan(make_recipe()), rows),
    )


def make_report(text: str = "", dtype: Dtype = "float32") -> ParityReport:
    reference = make_run("torch", good_rows(), text=text)
    ours = replace(make_run("paddle", good_rows(noise=1e-6)), execution="emulated")
    wrong = make_run("late", [replace(row, scale=row.scale * 2) for row in good_rows()])
    failure = Outcome(kind="failed", message=text or "no", exit_code=1, log_tail=text or "log")
    crashed = Run(name="crashed", target=text or "crashed", role="main", outcome=failure)
    faults = make_run("torch", good_rows(9, skipped=[2, 5]), "faults")
    envelope = measure_envelope(reference.rows, [good_rows(noise=n * 1e-7) for n in (1, 2, 3)])
    return ParityReport(
        recipe=text or "tiny",
        dtype=dtype,
        device="cpu",
        windows=40,
        threads=1,
        reference="torch",
        requested_reference="torch",
        faults=("2:0=inf",),
        runs=(reference, ours, wrong, crashed, faults),
        pairs=tuple(
            judge_pair(run, reference, envelope, dtype=dtype) for run in (ours, wrong, crashed)
        ),
        envelope=envelope,
    )


class Elements(HTMLParser):
    """Collects elements and attributes, and checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    return elements


@pytest.mark.parametrize("text", ["", EVIL])
def test_the_page_loads_nothing_and_runs_nothing(text: str) -> None:
    page = render_page(make_report(text))
    elements = parse(page)
    assert not {"script", "img", "iframe", "link", "object", "embed"} & set(elements.tags)
    for name, value in elements.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith("#")
    assert "url(" not in page.replace("url(#", "")
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_hostile_text_is_shown_as_text() -> None:
    page = render_page(make_report(EVIL))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "{{ 1 }}" in page


def test_the_page_says_what_matters() -> None:
    page = render_page(make_report())
    for words in (
        "EQUIVALENT",
        "DIFFERENT",
        "ERROR",
        "trajectory",
        "First differing rows",
        "horizon",
        "What was not tested",
        "numpy 2.3",
        "Loss scale with faults",
        "with faults",
    ):
        assert words in page
    assert page.count("<svg") == 6


def test_native_and_emulated_half_are_told_apart_everywhere() -> None:
    report = make_report(dtype="float16")
    page = render_page(report)
    assert "torch native, paddle emulated, late native, crashed native" in page
    assert "(float16: paddle emulated, torch native)" in page
    assert page.count("<td>emulated</td>") == 1
    document = report.to_json()
    assert document["execution"]["paddle"] == "emulated"
    assert [run["execution"] for run in document["runs"]].count("emulated") == 1
    assert all("(float16: " in pair["wording"] for pair in document["pairs"])
    float32 = render_page(make_report())
    assert "emulated</td>" not in float32
    assert "(float32" not in float32
    assert "<dd>not used</dd>" in float32


def test_figures_are_the_same_twice_and_hold_no_date() -> None:
    first, second = render_page(make_report()), render_page(make_report())
    assert first == second
    assert not re.search(r"\b20\d\d-\d\d-\d\d", first)


def test_ids_in_the_page_are_unique() -> None:
    ids = [value for name, value in parse(render_page(make_report())).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_report_of_nothing_is_still_a_page() -> None:
    dead = Run(name="torch", target="torch", role="main", outcome=Outcome(kind="timeout"))
    report = replace(make_report(), runs=(dead,), pairs=(), reference=None, envelope=None)
    page = render_page(report)
    parse(page)
    assert "none came to an end" in page
    assert "<svg" not in page


def test_traces_without_finite_numbers_can_be_drawn() -> None:
    rows = [replace(row, loss=None, grad_norm=None, lr=0.0) for row in good_rows(2)]
    report = make_report()
    runs = (make_run("torch", rows), make_run("paddle", rows))
    envelope = measure_envelope(rows, [good_rows(2)])
    assert math.isinf(envelope.spread[0])
    parse(render_page(replace(report, runs=runs, pairs=(), envelope=envelope)))


def test_json_is_strict_and_without_clock_or_progress() -> None:
    report = make_report()
    lost = [replace(row, loss=None) for row in report.runs[0].rows]
    envelope = measure_envelope(report.runs[0].rows, [lost])
    document = json.dumps(replace(report, envelope=envelope).to_json(), allow_nan=False)
    assert '"inf"' in document
    ends = {run["name"]: run["outcome"] for run in json.loads(document)["runs"]}
    assert "log_tail" not in ends["torch-main"]
    assert ends["crashed"]["log_tail"] == "log"
