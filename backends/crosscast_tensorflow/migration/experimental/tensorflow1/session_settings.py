"""Settings of a session for Keras (ConfigProto, set_session) to those of TensorFlow 2."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.edits import alone, raw, remove

_SESSIONS = ("tensorflow.Session", "tensorflow.InteractiveSession")
_CONFIG = "tensorflow.ConfigProto"
_OPTIONS = "tensorflow.GPUOptions"
_SETS = ("keras.backend.set_session", "tensorflow.python.keras.backend.set_session")
_EAGER = ("tensorflow.enable_eager_execution", "tensorflow.contrib.eager.enable_eager_execution")
_GPUS = '{tf}.config.list_physical_devices("GPU")'
_LINES = {
    "gpu_options.allow_growth": f"for physical_gpu in {_GPUS}:\n"
    "    {tf}.config.experimental.set_memory_growth(physical_gpu, {value})",
    "gpu_options.visible_device_list": "{tf}.config.set_visible_devices("
    f'{_GPUS}[{{value}} : {{value}} + 1], "GPU")',
    **{
        name: f"{{tf}}.config.threading.set_{name}({{value}})"
        for name in ("intra_op_parallelism_threads", "inter_op_parallelism_threads")
    },
    "log_device_placement": "{tf}.debugging.set_log_device_placement({value})",
}
"""Setting to the line of TensorFlow 2, in the order in which they are written."""
_DROPPED = {
    "allow_soft_placement": "",
    "gpu_options.force_gpu_compatible": "",
    "gpu_options.per_process_gpu_memory_fraction": "TensorFlow 2 limits no share of the memory of "
    "a GPU: tf.config.set_logical_device_configuration limits it in MB",
}
"""Setting without a counterpart to what is different without it."""


@dataclass(slots=True)
class SessionEdits:
    """The edits for the sessions of a module that only carry settings."""

    module: Module
    tensorflow: str
    """The name of TensorFlow in the module."""
    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gone: list[ast.AST] = field(default_factory=list)
    """What the edits remove: no name in it is used any more."""

    def run(self) -> None:
        """Find the edits."""
        for call in self.module.calls:
            if self.module.is_dead(call.node) or self._within_gone(call.node):
                continue
            name, statement = canonical(call.name), self.module.parent(call.node)
            if name in _SETS and isinstance(statement, ast.Expr):
                self._set_session(call.node, statement)
            elif name in _EAGER and isinstance(statement, ast.Expr):
                given = _argument(call.node, 0, "config")
                self._replace(statement, given, [])
        for call in self.module.calls:
            if canonical(call.name) in _SESSIONS and not self._within_gone(call.node):
                self._idle(call.node)

    def _within_gone(self, node: ast.AST) -> bool:
        here: ast.AST | None = node
        while here is not None:
            if here in self.gone:
                return True
            here = self.module.parent(here)
        return False

    def _set_session(self, call: ast.Call, statement: ast.Expr) -> None:
        given = _argument(call, 0, "session")
        made, others = self._made(given, _SESSIONS)
        if made is not None:
            self._replace(statement, _argument(made, 2, "config"), others)

    def _idle(self, call: ast.Call) -> None:
        """A session that is only created: its settings are those of the devices."""
        statement = self.module.parent(call)
        if isinstance(statement, ast.Expr):
            self._replace(statement, _argument(call, 2, "config"), [])
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and not self._reads(target.id, statement):
                self._replace(statement, _argument(call, 2, "config"), [])

    def _made(
        self, node: ast.expr | None, names: tuple[str, ...]
    ) -> tuple[ast.Call | None, list[ast.stmt]]:
        """Return the call of one of some classes, and its statement if it has a name."""
        if isinstance(node, ast.Call):
            return (node if canonical(self.module.call(node).name) in names else None), []
        if not isinstance(node, ast.Name):
            return None, []
        found = [
            statement
            for statement in self.module.every(ast.Assign)
            if self.module.function_of(statement) is self.module.function_of(node)
            and any(ast.unparse(target) == node.id for target in statement.targets)
        ]
        if len(found) != 1 or len(found[0].targets) != 1:
            return None, []
        value = found[0].value
        if not isinstance(value, ast.Call) or canonical(self.module.call(value).name) not in names:
            return None, []
        uses = self._reads(node.id, node)
        return (value, [found[0]]) if uses == [node] or names == (_CONFIG,) else (None, [])

    def _reads(self, name: str, near: ast.AST) -> list[ast.Name]:
        function = self.module.function_of(near)
        return [
            node
            for node in self.module.every(ast.Name)
            if node.id == name
            and isinstance(node.ctx, ast.Load)
            and (function is None or self.module.function_of(node) is function)
        ]

    def _replace(
        self, statement: ast.stmt, config: ast.expr | None, others: list[ast.stmt]
    ) -> None:
        """Write the settings of a session where it was set, and remove what made it."""
        settings: dict[str, ast.expr] = {}
        if config is not None and not _is_none(config):
            found = self._settings(config, settings)
            if found is None:
                return
            others = [*others, *found]
        lines = self._lines(settings)
        if lines is None or not all(alone(self.module, one) for one in (statement, *others)):
            return
        for other in others:
            edit = remove(self.module, other)
            self.edits += [edit] if edit is not None else []
        indent = " " * statement.col_offset
        text = "\n".join(lines).replace("\n", f"\n{indent}")
        edit = replace_node(self.module, statement, text) if lines else None
        edit = edit or remove(self.module, statement)
        self.edits += [edit] if edit is not None else []
        self.gone += [statement, *others]

    def _settings(self, config: ast.expr, settings: dict[str, ast.expr]) -> list[ast.stmt] | None:
        """Collect the settings of a ConfigProto; return its statements, None if not certain."""
        made, statements = self._made(config, (_CONFIG,))
        if made is None or made.args or not self._keywords(made, "", settings, statements):
            return None
        if isinstance(config, ast.Name):
            for name in self._reads(config.id, config):
                if name is config or self._within_gone(name):
                    continue
                chain: ast.AST = name
                while isinstance(self.module.parent(chain), ast.Attribute):
                    chain = self.module.parent(chain)  # type: ignore[assignment]
                assign = self.module.parent(chain)
                if not isinstance(assign, ast.Assign) or assign.targets != [chain]:
                    return None
                settings[ast.unparse(chain).partition(".")[2]] = assign.value
                statements.append(assign)
        return statements

    def _keywords(
        self,
        call: ast.Call,
        prefix: str,
        settings: dict[str, ast.expr],
        statements: list[ast.stmt],
    ) -> bool:
        for keyword in call.keywords:
            if keyword.arg is None:
                return False
            if keyword.arg == "gpu_options":
                options, others = self._made(keyword.value, (_OPTIONS,))
                if options is None or options.args:
                    return False
                statements += others
                if not self._keywords(options, "gpu_options.", settings, statements):
                    return False
            else:
                settings[prefix + keyword.arg] = keyword.value
        return True

    def _lines(self, settings: dict[str, ast.expr]) -> list[str] | None:
        """Return the lines of TensorFlow 2; None if a setting has none."""
        module = self.module
        lines: list[str] = []
        for name, value in settings.items():
            if name not in _LINES and name not in _DROPPED:
                self.refusals.append(
                    Refusal(
                        span=module.span(value),
                        message=f"the setting {name} of a session has no certain counterpart",
                        hint="decide what replaces it, and remove it",
                    )
                )
                return None
            self.notes += [note] if (note := _DROPPED.get(name, "")) else []
        for name, form in _LINES.items():
            given = settings.get(name)
            known = value_of(given, module) if given is not None else Known(False)
            if given is None or (isinstance(known, Known) and known.value in (False, 0, "")):
                continue
            text = raw(module, given)
            if name.endswith("visible_device_list"):
                text = _device(given, known, module)
                if not text:
                    self.refusals.append(
                        Refusal(
                            span=module.span(given),
                            message="the list of visible GPUs is not certainly one of them",
                            hint="write tf.config.set_visible_devices([...], 'GPU')",
                        )
                    )
                    return None
            lines.append(form.format(tf=self.tensorflow, value=text))
        return lines


def _device(given: ast.expr, known: object, module: Module) -> str:
    """Return the number of the only GPU in `str(number)` or "0"; empty if it is not certain."""
    if isinstance(known, Known) and isinstance(known.value, str) and known.value.isdigit():
        return known.value
    one = isinstance(given, ast.Call) and ast.unparse(given.func) == "str" and len(given.args) == 1
    return raw(module, given.args[0]) if one else ""  # type: ignore[attr-defined]


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == name]
    return next(iter([*named, *call.args[place : place + 1]]), None)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
