"""Migration to another framework: lift, correct or keep mistakes, compile, pair lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from crosscast.carriers.field_lines import carriers
from crosscast.carriers.operation_lines import operation_lines
from crosscast.carriers.text_changes import Line
from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.output import OutputFile
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast.targets.backend import find_target
from crosscast_migrate.bugs import Fate, changed, diagnostics_of, fates_of
from crosscast_migrate.carried_model import CarriedModel, OwnModelText, carried_model, model_text
from crosscast_migrate.encoders import Encoder, encoder_of
from crosscast_migrate.fit_methods import phases, with_added_losses, with_class_weights
from crosscast_migrate.label_axes import with_labels
from crosscast_migrate.left_open import to_fill_in, undone
from crosscast_migrate.losses import FILE as LOSS_FILE
from crosscast_migrate.losses import CarriedLoss, carried_loss
from crosscast_migrate.models.installed import model_problems
from crosscast_migrate.other_steps import other_steps, with_sums
from crosscast_migrate.own_model import FACTORY, FILE, TEST_FILE, stub, stub_test
from crosscast_migrate.own_rows import FILE as ROWS_FILE
from crosscast_migrate.own_rows import CarriedRows, RowNames, carried_rows
from crosscast_migrate.run_length import epochs_of, with_length
from crosscast_migrate.spared_weights import spared_weights
from crosscast_migrate.summed_losses import CarriedSum, carried_sum, label_names
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.annotated_yaml import recipe_yaml
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.frameworks import UNSAID, backend_for
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.lift.step_sections import looking, number
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.result import Result

_KINDS = (
    *("model.kind", "data.source", "loss.kind", "optimizer.name", "clipping.kind"),
    "loss_scaling.mode",
)
"""Fields that determine which other fields their section has."""
_LENGTH = "data.sequence_length"
"""It is that of the rows, whatever they are read from."""
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class TargetScripts:
    """The compiled recipe of one target."""

    recipe: Recipe
    compiled: Compiled

    @cached_property
    def carriers(self) -> Mapping[str, tuple[Line, ...]]:
        """Emitted lines of every field."""
        return carriers(self.recipe, self.compiled.target.name)

    @cached_property
    def operations(self) -> Mapping[str, tuple[Line, ...]]:
        """Emitted lines of every operation of the Plan."""
        return operation_lines(self.recipe, self.compiled.target.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossMigration:
    """Result of a migration. No file has been written yet."""

    sources: tuple[Source, ...]
    lifted: Lifted
    fields: Mapping[str, Filled]
    """Fields of the compiled recipe, after mistakes were corrected or kept."""
    recipe: Recipe
    model: CarriedModel | None
    """The model that was read, or why none was; None for the shipped encoder and the user's own."""
    own_models: Mapping[str, OwnModelText]
    """Target to what became of the model there."""
    loss: CarriedLoss | CarriedSum | None
    """What became of a loss that a recipe has no kind for."""
    rows: CarriedRows | None
    """What became of the data; None for what the user has named."""
    weights: str
    """Name of the pretrained weights that the source loads; empty for none."""
    text: str
    """The recipe as YAML; comments give the location of every field."""
    findings: tuple[Result, ...]
    fates: tuple[Fate, ...]
    arrived: tuple[TargetScripts, ...]
    files: Mapping[str, OutputFile]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def fill_in(self) -> tuple[str, ...]:
        """Fields that no source defines and the user must fill in."""
        return tuple(path for path, filled in self.fields.items() if filled.how == "assumed")


def migrate_across(
    sources: Sequence[Source],
    targets: Sequence[str],
    *,
    versions: Mapping[str, str] | None = None,
    keep_bugs: bool = False,
    settings: Mapping[str, object] | None = None,
) -> CrossMigration:
    """Return scripts for `targets` that train as `sources` do.

    Args:
        sources: files of one run, its program first.
        targets: see `crosscast.targets.backend.find_target`.
        versions: package to version; overrides the versions found in the sources.
        keep_bugs: keep mistakes of the source that a recipe can express.
        settings: recipe fields set by the user; they override everything else.

    Raises:
        DiagnosticError: CC915 and others if there is no recipe in the sources; CC970 for settings
            that are no fields; what `compile_recipe` raises for fields that a target cannot
            express.
    """
    lifted = lift(analyse(sources, versions))
    if not lifted.fields:
        hint = "pass the program together with its launch script and settings"
        if lifted.recipe is not None:
            hint = "this is already a recipe: run `crosscast compile`"
        raise DiagnosticError(
            *lifted.diagnostics,
            Diagnostic(code="CC971", message="found no training to migrate", hint=hint),
        )
    encoder = encoder_of(lifted.analysis.subject.program)
    results = lint_sources(sources)
    findings = [finding for finding in results if finding.is_finding]
    fields, fates = fates_of(_with_model(lifted.fields, encoder), findings, keep=keep_bugs)
    model = _model_of(lifted, fields)
    loss = _loss_of(lifted, fields, model, targets)
    if loss is not None:
        fields = {**fields, **loss.fields}
        model = replace(model, network=loss.network) if model and loss.network else model
    chosen = any(path.startswith("data.") for path in settings or {})
    ignored = looking(lifted.analysis.settled)("loss.ignore_index")
    rows = _rows_of(lifted, fields, model, number(ignored))
    if rows is not None and chosen:
        fields, rows = {**fields, **rows.order()}, None
    if rows is not None:
        fields = {**fields, **rows.fields()}
        lifted = replace(lifted, diagnostics=rows.settled(lifted.diagnostics))
    if model is not None:
        network, fields = with_labels(
            model.network, fields, is_flat=model.is_flat, ignores=ignored is not None
        )
        model = replace(model, network=network)
    program = lifted.analysis.subject.program
    fields = with_added_losses(program, with_class_weights(program, fields))
    fields = with_sums(program, fields)
    own_models = _own_models(model, targets)
    fields = with_length(_with_settings(fields, settings or {}), epochs_of(lifted))
    fields = _for_targets(fields, targets, model, own_models)
    written = recipe_yaml(fields, [source.name for source in sources])
    try:
        recipe = build_recipe(parse(written, "recipe.yaml"))
    except DiagnosticError as error:
        raise DiagnosticError(*lifted.diagnostics, *error.diagnostics) from None
    compiled = compile_recipe(recipe, targets)
    seen = list(_calls(lifted, sources))
    files = {"recipe.yaml": OutputFile(written)}
    for emitted in compiled:
        folder = emitted.target.folder
        files |= {f"{folder}/{path}": file for path, file in emitted.files.items()}
        if recipe.model.kind == "custom" and emitted.target.runs:
            own = own_models.get(emitted.target.name, OwnModelText())
            text = own.text or stub(emitted.target.backend.name, seen, own.reason)
            files[f"{folder}/{FILE}"] = OutputFile(text)
            if not own.text and (test := stub_test(emitted.target.backend.name)):
                files[f"{folder}/{TEST_FILE}"] = OutputFile(test)
        if rows is not None and recipe.data.source == "custom" and rows.text:
            files[f"{folder}/{ROWS_FILE}"] = OutputFile(rows.text)
        if loss is not None and recipe.loss.kind == "custom" and emitted.target.runs:
            files[f"{folder}/{LOSS_FILE}"] = OutputFile(loss.text(emitted.target.backend.name))
    return CrossMigration(
        sources=tuple(sources),
        lifted=lifted,
        fields=fields,
        model=model if recipe.model.kind == "custom" else None,
        own_models=own_models if recipe.model.kind == "custom" else {},
        loss=loss,
        rows=rows if rows is not None and recipe.model.kind == "custom" else None,
        weights=encoder.weights if encoder is not None and recipe.model.kind == "bert" else "",
        recipe=recipe,
        text=written,
        findings=tuple(findings),
        fates=fates,
        arrived=tuple(TargetScripts(recipe=recipe, compiled=emitted) for emitted in compiled),
        files=files,
        diagnostics=(
            *dict.fromkeys((*lifted.diagnostics, *_unchecked(results))),
            *model_problems(),
            *diagnostics_of(fates),
            *to_fill_in(fields, own_models, rows),
            *undone(rows),
            *phases(program),
            *other_steps(program, lifted.analysis.subject.steps),
            *spared_weights(
                program, fields, model.network if model else None, _backends_of(targets)
            ),
            *(diagnostic for emitted in compiled for diagnostic in emitted.diagnostics),
        ),
    )


def _unchecked(results: Sequence[Result]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for everything that could not be checked for mistakes."""
    for result in results:
        if not result.is_finding and result.severity is Severity.ERROR:
            yield result.diagnostic()


def _with_model(fields: Mapping[str, Filled], encoder: Encoder | None) -> dict[str, Filled]:
    """Return the fields with the encoder that the source creates, unless a file defines another."""
    if encoder is None or fields["model.kind"].how != "assumed":
        return dict(fields)
    rest = {path: filled for path, filled in fields.items() if not path.startswith("model.")}
    return {**rest, **encoder.fields}


def _with_settings(
    fields: Mapping[str, Filled], settings: Mapping[str, object]
) -> dict[str, Filled]:
    """Return fields with the user's settings; a new kind discards the rest of its section."""
    result = dict(fields)
    for path in _KINDS:
        if path in settings and path in result and result[path].value != settings[path]:
            section = path.partition(".")[0]
            kept = _LENGTH if settings[path] != "images" else ""
            result = {
                p: filled
                for p, filled in result.items()
                if p == kept or not p.startswith(f"{section}.")
            }
    chosen = changed(result, settings, "said with --set")
    for path in settings:
        for other in chosen:
            short, long = sorted((path, other), key=len)
            if long.startswith(f"{short}."):
                message = f"--set {path}: {short} cannot have both a value and a field {long}"
                raise DiagnosticError(Diagnostic(code="CC970", message=message))
    read = {*settings, *_source_of(chosen, settings)}
    return {p: replace(filled, how="read") if p in read else filled for p, filled in chosen.items()}


def _source_of(fields: Mapping[str, Filled], settings: Mapping[str, object]) -> tuple[str, ...]:
    """Return the field that the name of the user's file says: that the rows are in an npz file."""
    is_npz = "data.source" in fields and fields["data.source"].value == "npz"
    return ("data.source",) if is_npz and str(settings.get("data.train")).endswith(".npz") else ()


def _model_of(lifted: Lifted, fields: Mapping[str, Filled]) -> CarriedModel | None:
    """Return the model of the source, unless a file or the user defines another."""
    if fields["model.kind"].how != "assumed":
        return None
    subject = lifted.analysis.subject
    return carried_model(subject.program, subject.steps, _framework_of(lifted))


def _framework_of(lifted: Lifted) -> str:
    """Return the backend of the framework of a source."""
    profile = lifted.analysis.subject.profile
    words = [fact.value for fact in profile if fact.field == "framework" and fact.known]
    return backend_for(str(words[0]) if words else UNSAID)


def _loss_of(
    lifted: Lifted,
    fields: Mapping[str, Filled],
    model: CarriedModel | None,
    targets: Sequence[str],
) -> CarriedLoss | CarriedSum | None:
    if model is not None and model.network is not None and model.losses is not None:
        return carried_sum(model.losses, model.network, fields, _backends_of(targets))
    named = [fact for fact in lifted.analysis.subject.profile if fact.field == "loss.named"]
    network = model.network if model is not None else None
    return carried_loss(next(iter(named), None), fields, network, _backends_of(targets))


def _backends_of(targets: Sequence[str]) -> list[str]:
    """Return the frameworks of targets that run."""
    known_targets = [find_target(name) for name in targets]
    return list(dict.fromkeys(target.backend.name for target in known_targets if target.runs))


def _rows_of(
    lifted: Lifted,
    fields: Mapping[str, Filled],
    model: CarriedModel | None,
    ignored: float | None,
) -> CarriedRows | None:
    """Return the rows of the source, unless a file or the user defines others."""
    if fields["data.source"].how != "assumed" or model is None:
        return None
    subject, network = lifted.analysis.subject, model.network
    inputs = network.inputs if network is not None else ("x",)
    classes = fields["loss.kind"].value == "cross_entropy"
    losses = model.losses
    count = losses.count if losses is not None else 1
    keys = losses.labels if losses is not None else ()
    by_name = losses is not None and losses.by_name
    names = RowNames(
        inputs=inputs,
        labels=label_names(count),
        keys=keys if by_name else (),
        unplaced=() if by_name else keys,
    )
    return carried_rows(
        subject.program,
        subject.steps,
        _framework_of(lifted),
        names,
        classes=classes,
        single=losses is None and not classes and network is not None and network.is_single,
        ignored=ignored,
    )


def _own_models(model: CarriedModel | None, targets: Sequence[str]) -> dict[str, OwnModelText]:
    """Return the text of the model for every target."""
    known_targets = [find_target(name) for name in targets] if model is not None else []
    return {
        target.name: model_text(model, target)
        for target in known_targets
        if model is not None and target.runs
    }


def _for_targets(
    fields: Mapping[str, Filled],
    targets: Sequence[str],
    model: CarriedModel | None,
    own_models: Mapping[str, OwnModelText],
) -> dict[str, Filled]:
    """Return fields with a model factory for every target where the model is a custom one."""
    known_targets = [find_target(name) for name in targets]
    names: dict[str, bool] = {}
    for target in known_targets:
        if target.runs:
            own = own_models.get(target.name, OwnModelText())
            names[target.backend.name] = names.get(target.backend.name, True) and bool(own.text)
    if fields["model.kind"].value != "custom" or not names:
        return dict(fields)
    result = {p: filled for p, filled in fields.items() if not p.startswith("model.factory.")}
    places = (model.place,) if model is not None and model.place is not None else ()
    carried = Filled(value=FACTORY, how="derived", places=places, note=f"written to {FILE}")
    missing = Filled(value=FACTORY, how="assumed", note=f"write build_model() in {FILE}")
    for name, is_carried in names.items():
        path = f"model.factory.{name}"
        given = fields.get(path)
        own_one = given is not None and given.how != "assumed"
        stand_in = carried if is_carried else missing
        result[path] = given if own_one and given is not None else stand_in
    if all(names.values()) and fields["model.kind"].how == "assumed":
        note = "layers of the source"
        result["model.kind"] = Filled(value="custom", how="derived", places=places, note=note)
    return result


def _calls(lifted: Lifted, sources: Sequence[Source]) -> list[tuple[str, str]]:
    """Return the locations and texts of the source's calls of its model."""
    texts = {source.name: source.text.splitlines() for source in sources}
    places = dict.fromkeys(
        (event.span.file, event.span.line)
        for step in lifted.analysis.subject.steps
        for event in step.events
        if event.kind == "forward"
    )
    return [
        (f"{file}:{line}", texts[file][line - 1].strip())
        for file, line in places
        if file in texts and line <= len(texts[file])
    ][:_SHOWN]
