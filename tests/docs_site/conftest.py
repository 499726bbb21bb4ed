"""The documentation site that the tests look at: built once, served on this machine only."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from docs_site.built_site import Site
from website.build import build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("needs the generator of the site: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return Site(folder)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the browser asks for thousands of files."""


@pytest.fixture(scope="session")
def address(site: Site) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site.folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
