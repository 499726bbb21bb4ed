"""The page: complete, without other resources, and with the user's texts as data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from crosscast.explore.highlighting import highlighted
from crosscast.explore.page import MADE, explorer_page
from crosscast.explore.reading import side_at, side_of_recipe
from crosscast.explore.subject import Side
from crosscast.recipe.load import load_placed
from explored_recipes import NAMES, path_of
from recipe_texts import text_of
from tiers import cases

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;"
SCRIPT = f'''\
"""{HOSTILE}"""
import torch

model = torch.nn.Linear(2, 2)  # {HOSTILE}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for x, y in rows:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
'''
NPZ = "{source: npz, train: t.npz, eval: e.npz}"
VOID = {"meta", "link", "input", "img", "br"}


class Reader(HTMLParser):
    """Collects elements, attributes and the texts of scripts and styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]][-1] += data
        else:
            self.text += data

    @property
    def data(self) -> dict[str, Any]:
        """The data of the page."""
        found: dict[str, Any] = json.loads(self.texts["script"][0])
        return found


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def recipe_side(folder: Path, text: str, name: str = "r.yaml") -> Side:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return side_of_recipe(load_placed(str(path)))


@cache
def example(name: str) -> str:
    targets = (
        ("paddle", "tensorflow", "torch") if name != "data-parallel-from-scratch" else ("torch",)
    )
    return explorer_page([side_of_recipe(load_placed(path_of(name)))], targets).text


@pytest.mark.parametrize("name", cases(NAMES, ("bert-small",), "all examples"))
def test_examples(name: str) -> None:
    text = example(name)
    assert text.startswith(MADE)
    assert len(text.encode()) < 1_500_000
    reader = read(text)
    for tag, attributes in reader.elements:
        assert not any(key.startswith("on") or key == "style" for key in attributes), tag
        assert not attributes.keys() & {"src", "srcset", "action", "data", "poster"}, tag
        assert (attributes.get("href") or "#").startswith(("#", "data:,")), tag
    assert "http" not in "".join(reader.texts["style"]) + reader.texts["script"][1]


def test_the_policy_allows_only_the_script_of_the_page() -> None:
    reader = read(example("bert-small"))
    (policy,) = (
        a["content"]
        for tag, a in reader.elements
        if tag == "meta" and "content" in a and "http-equiv" in a
    )
    hashes = {
        name: base64.b64encode(hashlib.sha256(texts[-1].encode()).digest()).decode()
        for name, texts in reader.texts.items()
    }
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; "
        f"style-src 'sha256-{hashes['style']}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    types = [a.get("type") for tag, a in reader.elements if tag == "script"]
    assert types == ["application/json", None]


def test_data_and_elements_agree() -> None:
    reader = read(example("bert-small"))
    shown = {a["data-id"] for _, a in reader.elements if "data-id" in a}
    assert shown == {key["id"] for key in reader.data["keys"]}
    lines = [int(a["data-k"] or "") for _, a in reader.elements if "data-k" in a]
    numbers = iter(lines)
    ends = [number for number in lines if number == 0]
    assert len(ends) == len(reader.data["panes"])  # each pane counts from 0
    assert next(numbers) == 0
    most = max(lines)
    for key in reader.data["keys"]:
        for found in key["panes"]:
            assert all(0 <= k <= most for kind in ("own", "rel", "gap") for k in found[kind])
            assert found["own"] or found["rel"] or found["gap"] or found["none"], key["id"]


def test_verdicts_of_a_field() -> None:
    keys = {key["id"]: key for key in read(example("bert-small")).data["keys"]}
    (judged,) = keys["clipping.max_norm"]["panes"][0]["judged"]
    assert judged["verdict"] == "adapted"
    assert judged["code"] == "CC352"
    assert judged["evidence"] == "measured-cpu"
    assert keys["clipping.max_norm"]["ops"] == ["clip"]
    assert keys["step:clip"]["kind"] == "operation"
    assert keys["step:clip"]["about"] == "Clip the gradients."


def test_hostile_recipe(tmp_path: Path) -> None:
    train = json.dumps(f"{HOSTILE}.npz")
    data = f"{{source: npz, train: {train}, eval: e.npz}}"
    side = recipe_side(tmp_path, text_of(data=data), "<b>&.yaml")
    reader = read(explorer_page([side], ["torch"]).text)
    assert _is_harmless(reader)
    value = next(key for key in reader.data["keys"] if key["id"] == "data.train")["value"]
    assert HOSTILE in json.loads(value)
    assert "<b>&.yaml" in reader.text


def test_hostile_script(tmp_path: Path) -> None:
    path = tmp_path / "train<b>.py"
    path.write_text(SCRIPT, encoding="utf-8")
    side = side_at(str(path), ["torch", "paddle"], {})
    reader = read(explorer_page([side], ["torch", "paddle"]).text)
    assert _is_harmless(reader)
    assert HOSTILE in reader.text
    assert [pane["title"] for pane in reader.data["panes"]] == ["Source", "PyTorch", "Paddle"]
    keys = {key["id"]: key for key in reader.data["keys"]}
    assert len(keys["optimizer.learning_rate"]["panes"][0]["own"]) == 1
    assert keys["optimizer.learning_rate"]["note"] == "train<b>.py:5"
    assert all(pane["own"] for pane in keys["step:clip"]["panes"])


def _is_harmless(reader: Reader) -> bool:
    tags = [tag for tag, _ in reader.elements]
    return (
        tags.count("script") == 2
        and "img" not in tags
        and tags.count("b") == len([a for _, a in reader.elements if "data-k" in a])
    )


def test_two_recipes(tmp_path: Path) -> None:
    first = recipe_side(tmp_path, text_of(), "a.yaml")
    second = recipe_side(tmp_path, text_of(ema="{decay: 0.99}", seed="7"), "b.yaml")
    reader = read(explorer_page([first, second], ["torch"]).text)
    (pane,) = reader.data["panes"]
    assert pane["sides"] == [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    values = {key["id"]: key["value"] for key in reader.data["keys"]}
    assert values["seed"] == "0 → 7"
    assert values["ema.decay"] == "— → 0.99"
    assert values["optimizer.name"] == "adamw"
    classes = [a.get("class") or "" for _, a in reader.elements]
    assert sum(name == "l only" for name in classes) > 5
    assert sum(name == "l none" for name in classes) > 5
    assert sum(name == "l changed" for name in classes) > 1


def test_two_dialects(tmp_path: Path) -> None:
    side = recipe_side(
        tmp_path,
        text_of(precision="{mode: mixed, compute_dtype: float16}", loss_scaling="{mode: dynamic}"),
    )
    reader = read(explorer_page([side], ["torch", "torch@2.1"]).text)
    (pane,) = reader.data["panes"]
    assert pane["sides"] == ["torch", "torch@2.1"]
    keys = {key["id"]: key for key in reader.data["keys"]}
    sides = [found["side"] for found in keys["loss_scaling.mode"]["panes"][0]["judged"]]
    assert sides == ["torch", "torch@2.1"]  # other functions
    (judged,) = keys["optimizer.name"]["panes"][0]["judged"]
    assert judged["side"] == ""


def test_two_frameworks_are_no_comparison(tmp_path: Path) -> None:
    reader = read(explorer_page([recipe_side(tmp_path, text_of())], ["torch", "paddle"]).text)
    assert [pane["sides"] for pane in reader.data["panes"]] == [[""], [""]]


def test_a_target_without_a_script(tmp_path: Path) -> None:
    text = text_of(model='{kind: custom, factory: {torch: "m:f"}}', data=NPZ)
    page = explorer_page([recipe_side(tmp_path, text)], ["paddle", "torch"])
    assert {refusal.code for refusal in page.refusals} == {"CC305"}
    assert "There is no script" in read(page.text).text


def test_origins(tmp_path: Path) -> None:
    text = text_of() + "seed: 3  # FILL IN: why not\n"
    side = recipe_side(tmp_path, text)
    assert side.origin("optimizer.learning_rate").how == "written"
    assert side.origin("seed").how == "assumed"
    assert side.origin("optimizer.eps").how == "default"
    assert side.origin("precision.ops.matmul").how == "default"


@pytest.mark.parametrize(
    "name", ["a.py", "a.sh", "a.yaml", "a.json", "a.txt", "a", "a.sbatch", "a.ini"]
)
@pytest.mark.parametrize(
    "text", [HOSTILE, SCRIPT, "", "\n\n x\n", "a: [1, 'b'\n", "\t<b>\x0c\u2028é\n"]
)
def test_colour_loses_nothing(name: str, text: str) -> None:
    lines = []
    for line in highlighted(text, name):
        reader = Reader()
        reader.feed(str(line.html))
        reader.close()
        lines.append(line.indent + reader.text)
    assert "\n".join(lines) == text


STYLE = Path(__file__).parents[3] / "templates" / "explore" / "page.css"
INKS = ("ink", "soft", "accent", "good", "fit", "doubt", "bad", "k", "s", "m", "c", "f", "b", "d")
CODE = ("ink", "soft", "k", "s", "m", "c", "f", "b", "d")


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast(scheme: int) -> None:
    """Texts have at least the contrast that WCAG asks for (AA: 4.5)."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE.read_text(encoding="utf-8"), re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", blocks[scheme]))
    pairs = [(ink, back) for ink in INKS for back in ("card", "page", "hover")]
    pairs += [(ink, back) for ink in CODE for back in ("own", "rel", "old", "new", "on")]
    low = {
        pair: round(value, 2)
        for pair in pairs
        if (value := _contrast(colours[pair[0]], colours[pair[1]])) < 4.5
    }
    assert low == {}


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
