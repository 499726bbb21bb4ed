"""YAML and JSON configurations of unknown programs, read by the names of their entries.

Only what no other reader knows comes here, and only while the program itself is not read, which
knows better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from crosscast.messages.source import Source
from crosscast_reading.readers.config.foreign_yaml import read_yaml
from crosscast_reading.readers.config.json_places import read_json
from crosscast_reading.readers.config.paddle_words import tell_amp
from crosscast_reading.readers.protocol import Reading
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Document, Tree
from crosscast_reading.readers.usual_names import (
    LENGTHS,
    OPTIMIZERS,
    RATES,
    READER_NAME,
    SCHEDULES,
    STRATEGIES,
    are_usual,
    is_other_section,
    snake,
    tell_usual,
)

_KEYS = frozenset(
    (
        *("kernel_initializer", "kernel_regularizer", "kernel_constraint"),
        *("bias_initializer", "bias_regularizer", "clipnorm", "global_clipnorm"),
    )
)
"""Arguments of Keras' layers and optimizers that no other library calls so."""
_VALUES = re.compile(
    r"mixed_b?float16|PiecewiseConstantDecay|piecewise_constant_decay|CosineDecayRestarts"
    r"|(tf|tensorflow)\.(keras|train|compat)\.[\w.]+"
    r"|TF[A-Z][a-z]\w{0,60}(Model|For[A-Z]\w{1,60})"
)
"""Policies and schedules of Keras, names in TensorFlow, TensorFlow models of Transformers."""

_RATE = re.compile(rf"\b({'|'.join(RATES)})(\.\w+)?[\"']?[ \t]*:", re.IGNORECASE)
_KINDS = ("name", "class", "class_name", "kind", "type")
"""Entries of a section that say which optimizer or schedule it is."""
_OF_RATES = {
    **dict.fromkeys(("initial_rate", "initial", "init", "base", "start", "value"), RATES[0]),
    **dict.fromkeys(("schedule", "scheduler", "schedule_type", "policy"), SCHEDULES[0]),
    "boundaries": "lr_boundaries",
}
"""Entries of a section about the learning rate."""
_INNER = ("params", "args", "kwargs", "config")
"""Entries of a section that hold the arguments of what it names."""
_OF_PADDLE = frozenset({"custom_white_list", "custom_black_list", "use_dynamic_loss_scaling"})
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class UsualSettings:
    """Reads configurations by usual names; asked last."""

    name: str = READER_NAME

    def sniff(self, source: Source) -> bool:
        """Return whether a rate and other settings of a training are in it."""
        if not source.name.lower().endswith(_SUFFIXES) or not _RATE.search(source.text):
            return False
        tree = _document(source).tree
        return tree is not None and are_usual(_entries(tree))

    def read(self, source: Source) -> Reading:
        """Return the facts that the names of entries tell."""
        document = _document(source)
        entries = {} if document.tree is None else _entries(document.tree)

        def get(*names: str) -> Setting | None:
            return next((entries[name] for name in names if name in entries), None)

        writer = SettingWriter(self.name)
        tell_usual(writer, get)
        if document.tree is not None:
            _tell_tensorflow(writer, document.tree)
            _tell_section_of_paddle(writer, document.tree)
        return Reading(facts=tuple(writer.facts), diagnostics=tuple(document.diagnostics))


def _tell_section_of_paddle(writer: SettingWriter, tree: Tree) -> None:
    """Record the mixed precision of a section `amp` with arguments that only Paddle's has."""
    amp = tree.section("amp")
    if not amp.names() & _OF_PADDLE or "precision.enabled" in {f.field for f in writer.facts}:
        return
    inner = SettingWriter(READER_NAME, confidence="likely", home=writer.home)
    whole = Setting(name="amp", value=True, places=amp.as_setting("amp").places[:1])
    scale = amp.setting("init_loss_scaling") or amp.setting("scale_loss")
    inner.tell("framework", "paddle", whole, origin="presence")
    inner.tell("api", "paddle_yaml", whole, origin="presence")
    tell_amp(inner, amp.setting("use_amp") or amp.setting("enable") or whole, scale, amp)
    writer.facts += inner.facts


def _document(source: Source) -> Document:
    json = source.name.lower().endswith(".json")
    return read_json(source) if json else read_yaml(source, "numbers")


def _entries(tree: Tree) -> dict[str, Setting]:
    """Return the entries of all sections by name; of different ones with one name none is known."""
    entries: dict[str, Setting] = {}
    for name, setting in _flat(tree, ""):
        first = entries.setdefault(name, setting)
        if first.value != setting.value:
            reason = f"{setting.name} is set in several sections"
            both = (*first.places, *setting.places)
            entries[name] = replace(first, known=False, reason=reason, places=both)
    return entries


def _flat(tree: Tree, section: str) -> Iterator[tuple[str, Setting]]:
    for key, entry in (tree.keys or {}).items():
        *outer, last = str(key).split(".")  # `optimizer.class` is the class of a section
        name = snake(last)
        section = snake(outer[-1]) if outer else section
        if entry.keys is not None:
            other = any(is_other_section(snake(each)) for each in (*outer, last))
            if not other or _trains(entry):
                yield from _flat(entry, section if outer and last in _INNER else name)
            continue
        if section in RATES and name in _OF_RATES:
            name = _OF_RATES[name]
        elif section in RATES and name == "values" and "boundaries" in tree.names():
            name = "lr_values"  # otherwise those of a search
        elif section in STRATEGIES and name == _kind_in(tree):
            name = STRATEGIES[0]
        if name in _KINDS and section in (*OPTIMIZERS, *SCHEDULES, *RATES):
            name = OPTIMIZERS[0] if section in OPTIMIZERS else SCHEDULES[0]
        yield name, entry.as_setting(key)


def _kind_in(section: Tree) -> str:
    """Return the entry of a section that says what it is: its type rather than its name."""
    return next((kind for kind in reversed(_KINDS) if kind in section.names()), "")


def _trains(section: Tree) -> bool:
    """Whether a section has rate, optimizer and length of a run, whatever else is in it."""
    names = {snake(str(key)) for key in section.keys or {}}
    return all(names & set(each) for each in (RATES, OPTIMIZERS, LENGTHS))


def _tell_tensorflow(writer: SettingWriter, tree: Tree) -> None:
    """Record that TensorFlow trains, if a key or value is a word of its own."""
    word = next(_words(tree), None)
    if word is not None:
        before = writer.confidence
        writer.confidence = "likely"
        writer.tell("framework", "tensorflow", word, origin="presence")
        writer.confidence = before


def _words(tree: Tree) -> Iterator[Setting]:
    for part in tree.walk():
        for key, entry in (part.keys or {}).items():
            if str(key) in _KEYS or _VALUES.fullmatch(entry.text):
                yield entry.as_setting(str(key))


READER = UsualSettings()
