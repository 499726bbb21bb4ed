"""Names of files in a text, found in time linear in its length, however long its words are."""

from __future__ import annotations

import re
from collections.abc import Iterator


class FileNames:
    """Finds the words of a text that end like the name of a file.

    A pattern that may begin anywhere in a word reads the rest of the word from each place, which
    takes minutes for the hexadecimal data of a script. Here a word is read once.
    """

    def __init__(self, characters: str, endings: str) -> None:
        """Prepare the search.

        Args:
            characters: what words consist of, as in a class of a regular expression.
            endings: the endings of names, as alternatives of a regular expression.
        """
        self._word = re.compile(rf"[{characters}]+")
        self._ending = re.compile(rf"(?<=[\w-])\.(?:{endings})\b")

    def places(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield where each name begins, and the name: a word up to the last ending in it."""
        for word in self._word.finditer(text):
            end = 0
            for ending in self._ending.finditer(word.group()):
                end = ending.end()
            if end:
                yield word.start(), word.group()[:end]

    def find(self, text: str) -> Iterator[str]:
        """Yield the names in their order."""
        for _, name in self.places(text):
            yield name
