"""The HParams of tf.contrib.training, which TensorFlow lacks since 2.0."""

import json


class HParams:
    """Named hyperparameters, as attributes."""

    def __init__(self, **values):
        self.__dict__["_values"] = {}
        for name, value in values.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        """Add a hyperparameter with its default."""
        if name in self._values or hasattr(type(self), name):
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        self._values[name] = value

    def set_hparam(self, name, value):
        """Set a hyperparameter to a value of the type of its default."""
        default = self._values[name]
        self._values[name] = _each(default, value, lambda first, one: _cast(first, one, name))

    def del_hparam(self, name):
        """Remove a hyperparameter."""
        self._values.pop(name, None)

    def parse(self, text):
        """Set hyperparameters from `name=value,name=[value,value]`."""
        for name, value in _pairs(text):
            default = self._values[name]
            self.set_hparam(name, _each(default, value, lambda first, one: _read(first, one)))
        return self

    def parse_json(self, text):
        """Set hyperparameters from JSON."""
        return self.override_from_dict(json.loads(text))

    def override_from_dict(self, values):
        """Set several hyperparameters."""
        for name, value in values.items():
            self.set_hparam(name, value)
        return self

    def values(self):
        """Return name to value."""
        return dict(self._values)

    def get(self, key, default=None):
        """Return a value, or a default if there is none."""
        return self._values.get(key, default)

    def to_json(self, indent=None, separators=None, sort_keys=False):
        """Return the values as JSON."""
        return json.dumps(
            self._values, indent=indent, separators=separators, sort_keys=sort_keys
        )

    def __getattr__(self, name):
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.__dict__["_values"][name] = value

    def __contains__(self, name):
        return name in self._values

    def __repr__(self):
        return f"HParams({sorted(self._values.items())})"


def _pairs(text):
    """Yield name and value; a value in brackets is a list."""
    rest = text.strip()
    while rest:
        name, found, rest = rest.partition("=")
        if not found:
            raise ValueError(f"Malformed hyperparameter value: {name}")
        if rest.startswith("["):
            value, _, rest = rest[1:].partition("]")
            yield name.strip(), [part.strip() for part in value.split(",") if part.strip()]
            rest = rest.lstrip(", ")
        else:
            value, _, rest = rest.partition(",")
            yield name.strip(), value.strip()


def _each(default, value, convert):
    """Convert a value, or each value of a list."""
    many = isinstance(default, (list, tuple))
    if many != isinstance(value, (list, tuple)):
        raise ValueError(f"Expected {'a list' if many else 'one value'}, not {value!r}")
    if not many:
        return convert(default, value)
    first = default[0] if default else None
    return [convert(first, one) for one in value]


def _cast(default, value, name):
    """Return a value as the type of a default; only an int becomes a float."""
    kind = type(default)
    if default is None or isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
        return value
    numbers = (int, float)
    known = kind in numbers and isinstance(value, numbers) and not isinstance(value, bool)
    if not known or kind is int:
        raise ValueError(f"Could not cast hparam {name!r} of type {kind} from value {value!r}")
    return kind(value)


def _read(default, text):
    """Return a text as the type of a default."""
    if isinstance(default, bool):
        return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    return text if default is None or isinstance(default, str) else type(default)(text)
