"""The page: complete, escaped, alone on this machine, and whole when data is missing."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast_parity.checks.check import Check
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.levels.envelope import measure_envelope
from crosscast_parity.recipes.derived import bert_of
from crosscast_parity.report.figures.style import Plot
from crosscast_parity.report.page.evidence import margin
from crosscast_parity.report.page.figures import drawn_stages, fault_windows
from crosscast_parity.report.page.render import render_page
from crosscast_parity.report.page.summary import headline
from crosscast_parity.report.page.tensors import first_differing_tensor, model_order, tensor_limits
from parity_fakes import good_rows, make_recipe
from parity_reports import REPORTS, different, equivalent, lone, make_run, nothing
from tiers import cases

pytestmark = pytest.mark.usefixtures("figures_once")

EVIL = "</pre></style><script>alert('x')</script><img src=https://example.com/x.png> $x^2$ {{ 1 }}"
HOSTILE = ("different", "broken", "lone")
PAGES = [*((kind, "") for kind in REPORTS), *((kind, EVIL) for kind in HOSTILE)]
MORE = [("broken", EVIL), ("lone", EVIL)]
VOID = {"meta", "link", "img", "br"}


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


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def page_of(report: ParityReport) -> str:
    return render_page(report)[0]


def words_of(report: ParityReport) -> str:
    """Return the page without the figures of its stages, which take most of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crosscast_parity.report.page.render.stage_plots", lambda *_: [])
        return page_of(report)


def rendered(kind: str, text: str = "") -> tuple[str, list[Plot]]:
    """Drawing takes a second or two: each report is drawn once."""
    return _drawn(kind, text)


@cache
def _drawn(kind: str, text: str) -> tuple[str, list[Plot]]:
    """A cache knows no defaults: a text that is left out is another call than an empty one."""
    return render_page(REPORTS[kind](text))


@pytest.mark.parametrize(
    ("kind", "text"),
    cases(
        PAGES, quick=[page for page in PAGES if page not in MORE], reason="pages of more reports"
    ),
)
def test_the_page_loads_nothing_and_runs_nothing(kind: str, text: str) -> None:
    page = rendered(kind, text)[0]
    elements = parse(page)
    forbidden = {"script", "img", "image", "iframe", "link", "object", "embed", "form", "base"}
    assert not forbidden & set(elements.tags)
    for name, value in elements.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith("#")
    assert "url(" not in page.replace("url(#", "")
    assert "@import" not in page
    assert "default-src 'none'" in page
    ids = [value for name, value in elements.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value[1:] for name, value in elements.attributes if name == "href"}
    assert links <= set(ids)


@pytest.mark.parametrize(
    "kind", cases(HOSTILE, quick=["different"], reason="pages of more reports")
)
def test_hostile_text_is_shown_as_text(kind: str) -> None:
    page = rendered(kind, EVIL)[0]
    assert "<script" not in page
    assert page.count("</style>") == 1
    assert "&lt;script&gt;" in page
    assert "{{ 1 }}" in page


def test_hostile_names_in_figures_are_text_too() -> None:
    report = equivalent()
    name = EVIL[:40]
    runs = [replace(r, contestant=name) if r.contestant == "paddle" else r for r in report.runs]
    entrants = (*report.entrants[:2], replace(report.entrants[2], name=name))
    pairs = (report.pairs[0], replace(report.pairs[1], contestant=name))
    page = page_of(replace(report, runs=tuple(runs), entrants=entrants, pairs=pairs))
    parse(page)
    assert "<script" not in page
    assert "&lt;/pre&gt;&lt;/style&gt;" in page[page.index("<svg") :]


def test_an_equivalent_report_says_so_first() -> None:
    page = text_of(rendered("equivalent")[0])
    assert page.index("EQUIVALENT") < page.index("equivalent within measured rounding noise")
    assert "DIFFERENT" not in page
    assert "Failed and unclear checks" not in page
    for words in (
        "Overview of the levels",
        "Recipe fields that this run did not exercise",
        "loss_scaling.max_scale",
        "What was not tested",
        "L0d operations: native kernels of an accelerator are not on this machine",
        "torch native, tensorflow emulated, paddle emulated",
        "paddlepaddle 3.3.1",
        "crosscast parity bert-small.yaml --to torch,tensorflow,paddle -o out",
    ):
        assert words in page


def test_a_different_report_says_where_and_why() -> None:
    page = text_of(rendered("different")[0])
    for words in (
        "DIFFERENT",
        "different at L0a scale (tiny/faults)",
        "Failed and unclear checks",
        "First differing rows of the trace",
        "in tiny/float32-initial: bert.encoder.layer.0.output.dense.bias",
        "19 of 41 tensors exceed the limit",
        "optimizer.weight_decay explains the difference",
        "fully explained",
        "differs from window 9",
    ):
        assert words in page


def test_programs_of_two_recipes_are_said_to_be() -> None:
    report = replace(nothing(), reference="torch")
    assert "follow different recipes" not in page_of(report)
    other = replace(report.entrants[1], recipe="no-decay")
    report = replace(report, entrants=(report.entrants[0], other, *report.entrants[2:]))
    page = text_of(page_of(report))
    assert "torch follows bert-small.yaml and tensorflow follows no-decay." in page
    assert page.count("follow different recipes") == 1


def test_a_crash_shows_message_rows_and_log() -> None:
    page = text_of(rendered("broken")[0])
    for words in (
        "tensorflow tiny/main: failed: ended by SIGABRT; exit code -6; last window 7",
        "Last rows of the trace of tensorflow tiny/main",
        "RuntimeError: no memory",
        "paddle tiny/main: cannot_run: paddle is not installed; exit code 3; no window "
        "finished (also: tiny/faults)",
    ):
        assert words in page
    assert page.count("paddle is not installed; exit code") == 1


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("equivalent", "EQUIVALENT"),
        ("seeded", "EQUIVALENT"),
        ("different", "DIFFERENT"),
        ("broken", "ERROR"),
        ("lone", "NOTHING COMPARED"),
        ("nothing", "ERROR"),
        ("self_test", "SELF-TEST FAILED"),
    ],
)
def test_the_headline_is_the_worst_verdict(kind: str, word: str) -> None:
    assert headline(REPORTS[kind]())[0] == word


def test_a_lone_program_that_fails_is_different() -> None:
    bad = Check(level="L0b", name="scale", result="fail", wording="window 3: 1, expected 2")
    report = lone()
    report = replace(report, entrants=(replace(report.entrants[0], checks=(bad,)),))
    assert headline(report) == ("DIFFERENT", "bad")
    assert "different at L0b scale: window 3: 1, expected 2" in text_of(words_of(report))


def test_every_figure_has_a_caption_and_a_file() -> None:
    for kind, count in (("equivalent", 6), ("different", 7), ("seeded", 7), ("nothing", 0)):
        page, plots = rendered(kind)
        assert page.count("<svg") == len(plots) == count
        assert page.count("<figcaption>") == count
        assert len({plot.key for plot in plots}) == count
        for plot in plots:
            assert len(plot.caption) > 60
            assert plot.svg.count("<image") == 0


def test_figures_are_the_same_twice_and_hold_no_date(monkeypatch: pytest.MonkeyPatch) -> None:
    first = rendered("different")
    monkeypatch.undo()  # what shares figures
    second = render_page(different())
    assert first == second
    assert not re.search(r"\b20\d\d-\d\d-\d\d", first[0])


def test_missing_data_leaves_out_figures_only() -> None:
    report = equivalent()
    stage = replace(report.stages[0], envelope=None, faults=())
    runs = tuple(replace(run, rows=()) for run in report.runs)
    bare = tuple(replace(pair, tensor_errors={}, checks=()) for pair in report.pairs)
    report = replace(report, pairs=bare)
    for changed in (
        replace(report, stages=(stage,), exercise=(), left_out=(), command=""),
        replace(report, runs=runs),
        replace(report, runs=(), stages=(), entrants=()),
        replace(report, reference=None),
    ):
        parse(page_of(changed))


def test_traces_without_finite_numbers_can_be_drawn() -> None:
    rows = [replace(row, loss=None, grad_norm=None, lr=0.0) for row in good_rows(2)]
    report = equivalent()
    envelope = measure_envelope(rows, [good_rows(2)])
    assert math.isinf(envelope.spread[0])
    runs = tuple(make_run(entrant.name, "main", rows) for entrant in report.entrants)
    stages = (replace(report.stages[0], envelope=envelope),)
    parse(page_of(replace(report, runs=runs, stages=stages)))


def test_native_and_emulated_half_are_told_apart() -> None:
    assert "torch native, tensorflow emulated" in text_of(rendered("equivalent")[0])
    report = equivalent()
    float32 = replace(report, stages=(replace(report.stages[0], dtype="float32"),))
    page = words_of(float32)
    assert "<td>emulated</td>" not in page
    assert "<dd>not used</dd>" in page


def test_stages_alike_are_drawn_once_unless_one_is_in_trouble() -> None:
    report = equivalent()
    again = replace(report.stages[0], name="tiny-2")
    other = replace(report.stages[0], name="tiny-float32", dtype="float32")
    seed = replace(report.stages[0], name="seed-1", seed=1)
    report = replace(report, stages=(*report.stages, again, other, seed))
    drawn, others = drawn_stages(report)
    assert [stage.name for stage in drawn] == ["tiny", "tiny-float32"]
    assert [stage.name for stage in others] == ["tiny-2"]
    assert "everything passed in stages alike: tiny-2." in text_of(words_of(report))
    bad = Check(level="L2", name="trajectory", result="unclear", wording="", stage="tiny-2")
    pair = replace(report.pairs[0], checks=(bad,))
    drawn, others = drawn_stages(replace(report, pairs=(pair,)))
    assert [stage.name for stage in drawn] == ["tiny", "tiny-2", "tiny-float32"]
    assert others == []


def test_figures_of_a_stage_in_their_order() -> None:
    assert [plot.key for plot in rendered("equivalent")[1]] == [
        "tiny-loss",
        "tiny-scale-faults",
        "tiny-gradient-norm",
        "tiny-learning-rate",
        "tiny-scale",
        "tiny-gradients",
    ]


def test_faults_are_read_as_text() -> None:
    assert fault_windows(("12:1=inf@emb", "2:0=nan", "2:1=inf", "x", "-1:0=inf")) == (2, 12)


def test_the_tensor_nearest_to_the_loss_is_named() -> None:
    errors = {"embedding": 9.0, "first": 2.0, "last": 0.5}
    pair = Pair(
        contestant="a",
        reference="b",
        verdict="DIFFERENT",
        wording="",
        checks=(
            Check(
                level="L1a",
                name="first gradients by tensor, initial",
                result="fail",
                wording="",
                limit=1.0,
                stage="tiny",
                run="main",
            ),
        ),
        tensor_errors={"tiny/main": errors, "tiny/other": {"x": 5.0}},
    )
    assert tensor_limits(pair) == {"tiny/main": 1.0, "tiny/other": None}
    assert "in tiny/main: first (error 2, limit 1; 2 of 3" in first_differing_tensor(pair)
    fine = replace(pair, tensor_errors={"tiny/main": {"first": 1.0}})
    assert first_differing_tensor(fine) == ""
    lost = replace(pair, tensor_errors={"tiny/main": {"first": 0.1, "last": math.nan}})
    assert ": last (error not finite" in first_differing_tensor(lost)


def test_tensors_are_in_the_order_of_the_model() -> None:
    wanted = list(bert_shapes(bert_of(make_recipe(model={"layers": 12}))))
    assert sorted(wanted) != wanted
    assert model_order(sorted(wanted)) == wanted
    assert model_order(["b", "a", "classifier.bias"]) == ["b", "a", "classifier.bias"]


@pytest.mark.parametrize(
    ("value", "limit", "result", "words"),
    [
        (0.5, 1.0, "pass", "2.0 x"),
        (1e-9, 1e-3, "pass", "1000000 x"),
        (0.0, 0.0, "pass", "exact"),
        (2.0, 1.0, "fail", ""),
        (None, 1.0, "pass", ""),
        (1.0, None, "pass", ""),
    ],
)
def test_margins(value: float | None, limit: float | None, result: str, words: str) -> None:
    check = Check(
        level="L2",
        name="trajectory",
        result=result,  # type: ignore[arg-type]
        wording="",
        value=value,
        limit=limit,
    )
    assert margin(check) == words


def test_planted_bugs_are_listed_with_what_saw_them() -> None:
    page = text_of(rendered("self_test")[0])
    assert "1 of 2 planted bugs were detected by their level" in page
    assert "torch no skip L0b L2 seen" in page
    assert "torch decay on biases L1b L2 NOT SEEN" in page
    report = REPORTS["self_test"]()
    assert headline(replace(report, self_test=report.self_test[:1]))[0] == "SELF-TEST PASSED"


def test_results_over_seeds_are_shown_with_interval_and_margin() -> None:
    page = text_of(rendered("seeded")[0])
    assert "training loss (margin ±0.03)" in page
    assert "Results of every seed" in page
    assert re.search(r"accuracy [+-]0\.\d+ ± 0\.\d+ \(limit 0\.01\)", page)
    assert "Results over seeds" not in text_of(rendered("equivalent")[0])
