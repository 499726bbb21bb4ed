"""The language server: connects an editor (Language Server Protocol) with what crosscast knows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from crosscast import __version__
from crosscast.messages.diagnostics import Severity, Span
from crosscast.messages.source import Source
from crosscast.server import recipes
from crosscast.server.connection import Protocol
from crosscast.server.programs import findings
from crosscast_reading.lint.result import Result
from crosscast_reading.sources.files import kind_of

_PAUSE = 0.3
"""Seconds without typing before a changed document is read again."""
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


@dataclass(slots=True)
class State:
    """What was found in the open documents: URI to results."""

    results: dict[str, list[Result]] = field(default_factory=dict)


def make_server() -> LanguageServer:
    """Return the server, not started."""
    server = LanguageServer("crosscast", __version__, protocol_cls=Protocol)
    state = State()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: LanguageServer, params: types.DidOpenTextDocumentParams) -> None:
        _publish(ls, state)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: LanguageServer, params: types.DidChangeTextDocumentParams) -> None:
        version = params.text_document.version
        await asyncio.sleep(_PAUSE)
        document = _open_document(ls, params.text_document.uri)
        if document is not None and document.version == version:
            _publish(ls, state)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: LanguageServer, params: types.DidCloseTextDocumentParams) -> None:
        state.results.pop(params.text_document.uri, None)
        _send(ls, params.text_document.uri, [])

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: LanguageServer, params: types.HoverParams) -> types.Hover | None:
        document = _open_document(ls, params.text_document.uri)
        if document is None:
            return None
        source = _source(document)
        if not recipes.is_recipe(source):
            return None
        line, column = _place(ls, document, params.position)
        text = recipes.hover(recipes.read(source), line, column)
        if not text:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", "{"])
    )
    def complete(ls: LanguageServer, params: types.CompletionParams) -> types.CompletionList:
        document = _open_document(ls, params.text_document.uri)
        if document is None:
            return types.CompletionList(is_incomplete=False, items=[])
        source = _source(document)
        items = []
        if source.name.endswith((".yaml", ".yml")) and recipes.may_become_recipe(source):
            line, column = _place(ls, document, params.position)
            items = [_item(one) for one in recipes.completions(source, line, column)]
        return types.CompletionList(is_incomplete=False, items=items)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def fixes(ls: LanguageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        document = _open_document(ls, uri)
        if document is None:
            return []
        return [
            action
            for result in state.results.get(uri, [])
            if _touches(_range(ls, document, result.span), params.range)
            and (action := _action(ls, uri, document, result)) is not None
        ]

    return server


def _open_document(ls: LanguageServer, uri: str) -> TextDocument | None:
    """Return an open document; None for others, which the server does not read from disk."""
    document: TextDocument | None = ls.workspace.text_documents.get(uri)
    return document


def _publish(ls: LanguageServer, state: State) -> None:
    """Read all open documents, and tell the editor what was found in each."""
    documents = {_source(each).name: each for each in ls.workspace.text_documents.values()}
    sources = [_source(each) for each in documents.values()]
    results_by_name: dict[str, list[Result]] = {name: [] for name in documents}
    programs = []
    for source in sources:
        if recipes.is_recipe(source):
            results_by_name[source.name] = recipes.results(source)
        elif kind_of(source) in ("python", "shell"):
            programs.append(source)
    folder = Path(ls.workspace.root_path or ".")
    for result in findings(programs, folder) if programs else ():
        results_by_name.setdefault(result.file, []).append(result)
    for name, document in documents.items():
        state.results[document.uri] = results_by_name[name]
        diagnostics = [_diagnostic(ls, document, result) for result in results_by_name[name]]
        _send(ls, document.uri, diagnostics)


def _send(ls: LanguageServer, uri: str, diagnostics: list[types.Diagnostic]) -> None:
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))


def _source(document: TextDocument) -> Source:
    return Source(to_fs_path(document.uri) or document.uri, document.source)


def _place(ls: LanguageServer, document: TextDocument, position: types.Position) -> tuple[int, int]:
    """Return line and column from 1, in characters."""
    place = ls.workspace.position_codec.position_from_client_units(document.lines, position)
    return place.line + 1, place.character + 1


def _range(ls: LanguageServer, document: TextDocument, span: Span | None) -> types.Range:
    """Return the range of a span; the first line without one, and to its end if it is open."""
    line, column = (span.line, span.column) if span else (1, 1)
    end = span.end_column if span else None
    text = document.lines[line - 1].rstrip("\r\n") if line <= len(document.lines) else ""
    last = end if end is not None else max(len(text), column) + 1
    return _units(ls, document, (line, column), (line, max(last, column)))


def _units(
    ls: LanguageServer, document: TextDocument, start: tuple[int, int], end: tuple[int, int]
) -> types.Range:
    code_points = types.Range(
        types.Position(start[0] - 1, start[1] - 1), types.Position(end[0] - 1, end[1] - 1)
    )
    return ls.workspace.position_codec.range_to_client_units(document.lines, code_points)


def _diagnostic(ls: LanguageServer, document: TextDocument, result: Result) -> types.Diagnostic:
    hint = f"\nHint: {result.hint}" if result.hint else ""
    return types.Diagnostic(
        range=_range(ls, document, result.span),
        message=f"{result.message}{hint}",
        severity=_SEVERITIES[result.severity],
        code=result.code,
        source="crosscast",
    )


def _touches(one: types.Range, other: types.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _action(
    ls: LanguageServer, uri: str, document: TextDocument, result: Result
) -> types.CodeAction | None:
    """Return the fix of a result: its edits, if all are in this file."""
    if result.edits and all(edit.file == result.file for edit in result.edits):
        edits = [
            types.TextEdit(
                _units(ls, document, (edit.line, edit.column), (edit.end_line, edit.end_column)),
                edit.text,
            )
            for edit in result.edits
        ]
        title = f"Fix {result.code} {result.name}"
        if not result.is_finding:
            title = f"Replace with {result.edits[0].text}"
    else:
        return None
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(ls, document, result)],
        edit=types.WorkspaceEdit(changes={uri: edits}),
    )


def _item(one: recipes.Completion) -> types.CompletionItem:
    kinds = types.CompletionItemKind
    return types.CompletionItem(
        label=one.word,
        kind=kinds.Field if one.is_field else kinds.EnumMember,
        documentation=one.text or None,
        insert_text=f"{one.word}: " if one.is_field else one.word,
    )
