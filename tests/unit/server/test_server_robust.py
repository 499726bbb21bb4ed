"""The server goes on after messages that are wrong, and ends as it was asked to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recipe_texts import text_of


class Client:
    """Messages as bytes, so that also wrong ones can be sent."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "crosscast", "server"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder)
        self.number = 0

    def send(self, method: str, parameters: object, *, request: bool = True) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if request:
            self.number += 1
            message["id"] = self.number
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, method: str, parameters: object) -> dict[str, Any]:
        """Return the answer to a request."""
        self.send(method, parameters)
        while True:
            message = self.receive()
            if message.get("id") == self.number and "method" not in message:
                return message

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        assert length, "the server has ended"
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found


INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


@contextmanager
def started(folder: Path) -> Iterator[Client]:
    """Start a server, say hello, and kill it if it has not ended by then."""
    made = Client(folder)
    try:
        assert "result" in made.ask("initialize", INITIALIZE)
        made.send("initialized", {}, request=False)
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One server for all tests after which it must go on."""
    with started(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Client]:
    """A server for a test that ends it."""
    with started(tmp_path) as made:
        yield made


def opened(client: Client, folder: Path) -> str:
    uri = (folder / "recipe.yaml").as_uri()
    item = {"uri": uri, "languageId": "yaml", "version": 1, "text": text_of()}
    client.send("textDocument/didOpen", {"textDocument": item}, request=False)
    return uri


def hover(client: Client, uri: str) -> dict[str, Any]:
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 1}}
    return client.ask("textDocument/hover", place)


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: %s\r\n\r\n" % (b"9" * 5000),
        b"Content-Length: 4000000000\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}\r\n",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
        b"no header\r\n\r\n",
    ],
    ids=lambda data: ascii(data[:30]),
)
def test_a_wrong_message_does_not_end_the_server(
    client: Client, tmp_path: Path, data: bytes
) -> None:
    uri = opened(client, tmp_path)
    client.raw(data)
    assert hover(client, uri)["result"] is not None


def test_a_second_start_is_refused_and_loses_nothing(client: Client, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    assert client.ask("initialize", INITIALIZE)["error"]["code"] == -32600
    assert hover(client, uri)["result"] is not None


@pytest.mark.parametrize(
    "uri", ["file:///nowhere/recipe.yaml", "untitled:recipe.yaml", "file:///a%00b.yaml", ""]
)
def test_files_that_are_not_open(client: Client, uri: str) -> None:
    assert hover(client, uri)["result"] is None
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    assert client.ask("textDocument/completion", place)["result"]["items"] == []
    end = {"line": 0, "character": 0}
    asked = {**place, "range": {"start": end, "end": end}, "context": {"diagnostics": []}}
    assert client.ask("textDocument/codeAction", asked)["result"] == []


def test_a_clean_end_prints_nothing(ending: Client, tmp_path: Path) -> None:
    opened(ending, tmp_path)
    assert ending.ask("shutdown", None)["result"] is None
    ending.send("exit", None, request=False)
    _, said = ending.process.communicate(timeout=60)
    assert (ending.process.returncode, said.decode()) == (0, "")


def test_an_end_without_a_shutdown_prints_no_traceback(ending: Client) -> None:
    ending.send("exit", None, request=False)
    _, said = ending.process.communicate(timeout=60)
    assert b"Traceback" not in said
