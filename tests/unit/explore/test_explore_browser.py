"""The page in a browser: what pointing, keys and fingers light up, and what is said aloud."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import crosscast as cc
from browsers import chromium, opened, opening_seconds
from crosscast.explore.page import explorer_page
from crosscast.explore.reading import side_at, side_of_recipe
from crosscast.recipe.load import load_placed
from explored_recipes import EXAMPLES, path_of
from recipe_texts import text_of
from tiers import exhaustive

pytestmark = exhaustive("starts a browser")
TARGETS = ("paddle", "tensorflow", "torch")
DESK = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")

    def write(name: str, *sides: Any, targets: tuple[str, ...] = TARGETS) -> None:
        text = explorer_page(sides, targets).text
        (folder / f"{name}.html").write_text(text, encoding="utf-8")

    write("recipe", side_of_recipe(load_placed(path_of("bert-small"))))
    script = str(EXAMPLES / "apex-o1" / "before" / "train.py")
    write("script", side_at(script, TARGETS, {}))
    for name, changes in (("a", {}), ("b", {"seed": "7", "ema": "{decay: 0.5}"})):
        (folder / f"{name}.yaml").write_text(text_of(**changes), encoding="utf-8")
    two = [side_of_recipe(load_placed(str(folder / name))) for name in ("a.yaml", "b.yaml")]
    write("two", *two, targets=("torch",))
    return folder


@pytest.fixture
def show(browser: Any, pages: Path) -> Any:
    def of(name: str, anchor: str = "", **settings: Any) -> Any:
        return opened(browser, f"file://{pages}/{name}.html{anchor}", **(settings or DESK))

    return of


def lit(page: Any, kind: str, pane: int | None = None) -> list[str]:
    """Return the texts of the lines that are lit in one way."""
    column = ".pane" if pane is None else f'.pane[data-pane="{pane}"]'
    found: list[str] = page.locator(f"{column} .l.{kind} code").all_inner_texts()
    return [text.strip() for text in found]


def fields(page: Any, kind: str = "on") -> list[str]:
    found = page.locator(f".field.{kind}").all()
    return [element.get_attribute("data-id") for element in found]


def field(page: Any, path: str) -> Any:
    return page.locator(f'.field[data-id="{path}"]')


def line(page: Any, pane: int, text: str) -> Any:
    return page.locator(f'.pane[data-pane="{pane}"] .l', has_text=text).first


def settle(page: Any) -> None:
    page.wait_for_timeout(300)


def test_pointing_at_a_field_lights_its_lines_on_every_target(show: Any) -> None:
    with show("recipe") as page:
        field(page, "clipping.max_norm").hover()
        settle(page)
        assert [lit(page, "own", pane) for pane in range(3)] == [["MAX_NORM = 1.0"]] * 3
        assert any("clip_grad_norm_" in text for text in lit(page, "rel", 2))
        assert fields(page) == ["clipping.max_norm"]
        assert page.locator(".op.rel").all_inner_texts() == ["clip"]
        assert "clipping.max_norm: 1.0" in page.locator("#selected").inner_text()
        assert "CC352" in page.locator("#cards").inner_text()
        for pane in range(3):  # and they are in view
            box = page.locator(f'.pane[data-pane="{pane}"] .l.own').bounding_box()
            assert 0 < box["y"] < 540
        field(page, "seed").hover()
        settle(page)
        assert all("1234" in text for text in lit(page, "own"))


def test_pointing_at_a_line_lights_its_fields_and_its_counterparts(show: Any) -> None:
    with show("recipe") as page:
        line(page, 2, "loss = loss / rows").hover()
        settle(page)
        assert "accumulation.normalize_by" in fields(page)
        assert any("rows" in text for text in lit(page, "own", 0))
        assert "normalize" in page.locator("#cards").inner_text()
        line(page, 2, "state.windows += 1").hover()
        settle(page)
        assert fields(page) == []
        assert "Counts windows" in page.locator("#cards").inner_text()


def test_a_click_keeps_the_selection(show: Any) -> None:
    with show("recipe") as page:
        field(page, "optimizer.eps").click()
        field(page, "seed").hover()
        settle(page)
        assert fields(page) == ["optimizer.eps"]
        assert page.locator("#pin").get_attribute("aria-pressed") == "true"
        assert page.url.endswith("#optimizer.eps")
        page.keyboard.press("Escape")
        field(page, "optimizer.betas").hover()
        settle(page)
        assert fields(page) == ["optimizer.betas"]


def test_an_address_names_a_field(show: Any) -> None:
    with show("recipe", "#optimizer.betas") as page:
        assert fields(page) == ["optimizer.betas"]
        assert len(lit(page, "own")) >= 3


def test_the_keyboard_does_what_the_mouse_does(show: Any) -> None:
    with show("recipe") as page:
        aloud = page.locator("#live")
        page.keyboard.press("/")
        page.keyboard.type("max_norm")
        assert page.locator(".field:visible").count() == 1
        page.keyboard.press("Tab")  # the operations
        page.keyboard.press("Tab")
        settle(page)
        assert fields(page) == ["clipping.max_norm"]
        words = "clipping.max_norm: 1.0. Paddle adapted"
        assert words in aloud.inner_text()
        page.keyboard.press("ArrowRight")  # keeps the field, goes to the first script
        focused = partial(page.evaluate, "document.activeElement.innerText")
        assert "MAX_NORM = 1.0" in focused()
        assert fields(page) == ["clipping.max_norm"]
        page.keyboard.press("ArrowRight")
        pane = "document.activeElement.closest('.pane').dataset.pane"
        assert page.evaluate(pane) == "1"
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowDown")
        settle(page)
        assert page.locator(".l.on code").inner_text() == focused().split("\n")[-1].strip()
        assert "train.py:" in aloud.inner_text()
        page.keyboard.press("Enter")
        assert page.locator("#pin").get_attribute("aria-pressed") == "true"
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("document.activeElement.className").startswith("key field")


def test_the_order_of_stops(show: Any) -> None:
    with show("recipe") as page:
        stops = []
        for _ in range(15):
            page.keyboard.press("Tab")
            stops.append(page.evaluate("document.activeElement.innerText").strip()[:16])
        assert stops[:3] == ["Skip to the fiel", "Skip to the scri", "Skip to what is "]
        assert "Fields" in stops
        names = "document.activeElement.closest('[role=listbox]')?.getAttribute('aria-label')"
        page.locator(".field").first.focus()
        assert page.evaluate(names) == "Fields of the recipe"
        page.keyboard.press("Tab")
        assert page.evaluate(names) == "Lines, Paddle"


def test_names_for_a_screen_reader(show: Any) -> None:
    with show("recipe") as page:
        tree = page.locator("body").aria_snapshot()
        assert 'option "clipping.max_norm: 1.0; Paddle adapted' in tree
        assert 'listbox "Lines, PyTorch"' in tree
        assert 'listbox "Operations of the training step"' in tree
        buttons = page.locator("button:visible").all_inner_texts()
        assert all(text.strip() for text in buttons)
        selected = page.locator('.field[aria-selected="true"]')
        field(page, "seed").click()
        assert selected.count() == 1


def test_the_detail_leads_to_the_lines(show: Any) -> None:
    with show("recipe") as page:
        field(page, "clipping.max_norm").click()
        page.locator(".card .goto").nth(1).click()
        settle(page)
        assert page.evaluate("document.activeElement.classList.contains('l')")
        assert fields(page) == ["clipping.max_norm"]


def test_a_script(show: Any) -> None:
    with show("script") as page:
        line(page, 0, "torch.optim.SGD").hover()
        settle(page)
        assert {"optimizer.name", "optimizer.learning_rate", "optimizer.momentum"} <= {
            *fields(page)
        }
        assert "LEARNING_RATE = 0.01" in lit(page, "own", 1)
        page.locator('.op[data-id="step:step"]').hover()
        settle(page)
        assert any("optimizer.step()" in text for text in lit(page, "own", 0))


def test_two_recipes(show: Any) -> None:
    with show("two") as page:
        page.locator("#only").check()
        shown = page.locator(".field:visible").all()
        assert [element.get_attribute("data-id") for element in shown] == ["seed", "ema.decay"]
        field(page, "ema.decay").hover()
        settle(page)
        assert "average" in " ".join(lit(page, "own") + lit(page, "rel"))
        left, right = (page.locator(".r .l.changed").nth(n).bounding_box() for n in range(2))
        assert left["y"] == right["y"]
        assert left["x"] < right["x"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(show: Any, scheme: str) -> None:
    with show("recipe", **PHONE, color_scheme=scheme) as page:
        field(page, "clipping.max_norm").tap()
        settle(page)
        assert page.locator(".card .goto").count() >= 3
        page.locator(".card", has_text="TensorFlow").locator(".goto").first.tap()
        settle(page)
        assert page.locator(".column:visible h2").inner_text() == "TensorFlow"
        box = page.locator('.pane[data-pane="1"] .l.own').bounding_box()
        assert 0 < box["y"] < 844
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_it_opens_in_a_second_and_asks_for_nothing(browser: Any, pages: Path) -> None:
    asked: list[str] = []
    context = browser.new_context(**DESK)
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    seconds = opening_seconds(page, f"file://{pages}/recipe.html", "body.ready")
    context.close()
    assert 0.01 < seconds < 1.0
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_in_a_notebook(browser: Any, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    shown = cc.explore(path_of("bert-small"), TARGETS)._repr_html_()
    notebook.write_text(f'<meta charset="utf-8">{shown}', encoding="utf-8")
    with opened(browser, f"file://{notebook}", **DESK) as page:
        frame = page.frame_locator("iframe")
        frame.locator('.field[data-id="clipping.max_norm"]').click()
        settle(page)
        assert frame.locator(".pane .l.own").all_inner_texts() != []
        frame.locator("a.skip").nth(1).focus()
        page.keyboard.press("Enter")
        assert frame.locator("#scripts:focus").count() == 1
        assert frame.locator(".field.on").count() == 1


def test_on_paper(show: Any) -> None:
    with show("recipe") as page:
        field(page, "clipping.max_norm").click()
        page.emulate_media(media="print")
        assert page.locator(".pane:visible").count() == 3
        assert not page.locator("#find").is_visible()
        assert page.locator("#cards").is_visible()
        assert page.locator("table").is_visible()
