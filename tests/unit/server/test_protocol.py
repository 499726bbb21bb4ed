"""The language server, driven by a client: the process of the command, and messages over pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from recipe_texts import text_of

T = TypeVar("T")
LOOP = """\
import torch

def train(model, rows, optimizer, scaler):
    for x in rows:
        with torch.cuda.amp.autocast():
            loss = model(x).mean()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""


class Editor:
    """A client that keeps the diagnostics it is sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("editor", "1")
        self.sent: dict[str, list[types.Diagnostic]] = {}
        self.news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def _(params: types.PublishDiagnosticsParams) -> None:
            self.sent[params.uri] = [*params.diagnostics]
            self.news.set()

    def run(self, work: Awaitable[T]) -> T:
        async def within() -> T:
            return await asyncio.wait_for(work, 60)

        return self.loop.run_until_complete(within())

    def start(self) -> None:
        self.run(self.client.start_io(sys.executable, "-m", "crosscast", "server"))
        root = self.folder.as_uri()
        parameters = types.InitializeParams(types.ClientCapabilities(), root_uri=root)
        self.run(self.client.initialize_async(parameters))
        self.client.initialized(types.InitializedParams())

    def stop(self) -> None:
        self.run(self.client.shutdown_async(None))
        self.client.exit(None)
        self.run(self.client.stop())  # type: ignore[no-untyped-call]
        self.loop.close()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def until_sent(self, name: str, act: Callable[[], None]) -> list[types.Diagnostic]:
        uri = self.uri(name)
        self.sent.pop(uri, None)
        act()
        while uri not in self.sent:
            self.news.clear()
            self.run(self.news.wait())
        return self.sent[uri]

    def open(self, name: str, language: str, text: str) -> list[types.Diagnostic]:
        item = types.TextDocumentItem(self.uri(name), language, 1, text)
        parameters = types.DidOpenTextDocumentParams(item)
        return self.until_sent(name, lambda: self.client.text_document_did_open(parameters))

    def change(self, name: str, text: str) -> list[types.Diagnostic]:
        document = types.VersionedTextDocumentIdentifier(uri=self.uri(name), version=2)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        parameters = types.DidChangeTextDocumentParams(document, [whole])
        return self.until_sent(name, lambda: self.client.text_document_did_change(parameters))

    def at(self, name: str, line: int, column: int) -> dict[str, Any]:
        place = types.Position(line, column)
        return {"text_document": types.TextDocumentIdentifier(self.uri(name)), "position": place}

    def fixes(self, name: str, line: int) -> list[types.CodeAction]:
        here = types.Range(types.Position(line, 0), types.Position(line, 0))
        document = types.TextDocumentIdentifier(self.uri(name))
        parameters = types.CodeActionParams(document, here, types.CodeActionContext([]))
        found = self.run(self.client.text_document_code_action_async(parameters))
        return [action for action in found or [] if isinstance(action, types.CodeAction)]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    made = Editor(tmp_path_factory.mktemp("workspace"))
    made.start()
    yield made
    made.stop()


def test_a_recipe_from_its_first_error_to_the_fix(editor: Editor) -> None:
    text = text_of()  # the letter before the place is two units of UTF-16
    wrong = text.replace("optimizer: {", "optimizer: {x-note: '\U0001f600', lr: 1, ", 1)
    found = editor.open("recipe.yaml", "yaml", wrong)
    problem = next(d for d in found if d.code == "CC101")
    units = wrong.splitlines()[problem.range.start.line].encode("utf-16-le")
    start, end = problem.range.start.character, problem.range.end.character
    assert units[2 * start : 2 * end].decode("utf-16-le") == "lr"
    assert problem.severity == types.DiagnosticSeverity.Error
    (action,) = [a for a in editor.fixes("recipe.yaml", problem.range.start.line) if a.edit]
    assert action.title == "Replace with learning_rate"
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[editor.uri("recipe.yaml")]
    assert edit.new_text == "learning_rate"
    later = editor.change("recipe.yaml", text)
    assert [d for d in later if d.severity == types.DiagnosticSeverity.Error] == []


def test_hover_and_completion(editor: Editor) -> None:
    text = "version: 1\nprecision: {compute_dtype: float16, }\n"
    editor.open("other.yaml", "yaml", text)
    hover = editor.run(
        editor.client.text_document_hover_async(types.HoverParams(**editor.at("other.yaml", 1, 14)))
    )
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.value.startswith("**precision.compute_dtype**")
    place = editor.at("other.yaml", 1, text.splitlines()[1].index(" }") + 1)
    found = editor.run(
        editor.client.text_document_completion_async(types.CompletionParams(**place))
    )
    assert isinstance(found, types.CompletionList)
    labels = {item.label for item in found.items}
    assert "mode" in labels
    assert "compute_dtype" not in labels


def test_a_program_and_the_fix_of_a_rule(editor: Editor) -> None:
    found = editor.open("train.py", "python", LOOP)
    codes = {d.code for d in found}
    assert any(str(code).startswith("CL") for code in codes)
    fixed = [action for line in range(12) for action in editor.fixes("train.py", line)]
    assert any(action.title.startswith("Fix CL") for action in fixed)


def test_what_is_neither_recipe_nor_program_is_left_alone(editor: Editor) -> None:
    assert editor.open("docker-compose.yaml", "yaml", "version: '3'\nservices: {}\n") == []
    assert editor.open("notes.txt", "plaintext", "version: 1\noptimizer: {lr: 1}\n") == []
