"""Hypothesis strategies for the values of recipes: strange but valid strings, extreme sizes."""

from __future__ import annotations

from hypothesis import strategies as st

STRANGE_PATHS = (
    *("it's", 'a"b', "a\"b'c", "\\", "\\N{DASH}", "a\\", "'''", '"""', "é", "\U0001f600", "%s %d"),
    *("$(touch x)", "`touch x`", "${HOME}", "$HOME", "a;b", "a&b", "a|b", "> x", "*", "~", "-rf"),
    *("{{ view }}", "{% raw %}", "{# x #}", "{x}", "{", "}}", "../..", "/etc/x", "C:\\x", "a//b"),
    *("null", "true", "no", "1e5", "1_000", "0x1f", "017", ".5", "2001-01-01", "=", "<<", "1:30"),
    *(
        "# x",
        "a: b",
        "a #b",
        "- x",
        "? x",
        "!t",
        "&a",
        "*a",
        "|",
        "@x",
        "%x",
        "[",
        "x,",
        "a:",
        ":a",
    ),
    *(" lead", "trail ", " ", "two  spaces", "word " * 40, "\u00a0", "\u3000"),
    "x" * 255,
)
_VALID = st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))
paths = st.sampled_from(STRANGE_PATHS) | st.text(_VALID, min_size=1, max_size=40)
names = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
factories = st.sampled_from(
    (
        *("my.models:build_model", "m:main", "models.net:torch", "a:np", "_:_", "match.case:type"),
        f"{'package.' * 12}module:{'function_' * 10}make",
    )
)
sizes = st.sampled_from((1, 2, 3, 32, 2**31 - 1))


def rarely(times: int) -> st.SearchStrategy[bool]:
    """True once in so many times: for what a target may refuse, and must not fill the space."""
    return st.sampled_from((*(False,) * (times - 1), True))
