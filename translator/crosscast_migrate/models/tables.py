"""What a framework's package says of its models: how they are read, and how they are written.

Adding a framework changes nothing here: `SourceSupport.models` names the `ModelTables` of its
package. A kind of layer or operation, and its settings, have one meaning for all frameworks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from crosscast_migrate.models.initials import Drawn
from crosscast_migrate.models.network import Channels, Settings
from crosscast_migrate.models.objects import Library, Opaque
from crosscast_migrate.models.rows import Reading

Pads = Literal["even", "uneven", "same"]
"""Both sides of an axis by one number, each side by its own, and as Keras' "same"."""
Maker = Callable[[Mapping[str, Any]], Drawn | None]
"""From the arguments of an initializer to what it draws; None for something that is not carried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """A function or method that fills a weight in place, or one that returns an initializer."""

    arguments: tuple[str, ...] = ()
    """Its parameters behind the weight; of an initializer those that are given by place."""
    of: Maker
    ignored: frozenset[str] = frozenset()
    """Arguments that do not change what is drawn, as shapes and keys."""

    def drawn(self, given: Sequence[Any], named: Mapping[str, Any]) -> Drawn | None:
        """Return the numbers that a call draws for a weight; None where that is not known."""
        values = dict(zip(self.arguments, given, strict=False)) | dict(named)
        values = {name: value for name, value in values.items() if name not in self.ignored}
        unknown = any(isinstance(value, Opaque | Library) for value in values.values())
        if unknown or len(given) > len(self.arguments):
            return None
        try:
            return self.of(values)
        except (KeyError, TypeError, ValueError):  # the library would refuse the call, too
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReading:
    """What the names of a framework mean. Names are dotted and public: `torch.nn.Linear`."""

    package: str
    """Of the classes of layers."""
    layers: Mapping[str, Reading]
    """By the name in the package."""
    functions: Mapping[str, Reading]
    methods: Mapping[str, Reading] = field(default_factory=dict)
    """By the name of the method of a tensor."""
    tensor_names: tuple[str, ...] = ("x",)
    """Names that functions give the tensors that they compute with, where a call names them."""
    list_names: tuple[str, ...] = ()
    """Names that functions give a list of tensors."""
    function_packages: frozenset[str] = frozenset()
    """Packages whose functions compute numbers: what a step does to an output with one of them is
    part of the model, or ends the reading."""
    sequential: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    """Lists of modules."""
    dicts: frozenset[str] = frozenset()
    forward: str = "forward"
    """The method of the user's class that computes the outputs."""
    train_selects: bool = True
    """Whether the method `train` of a model selects how its layers compute."""
    random_numbers: frozenset[str] = frozenset()
    """Parameters by which models and layers are given random numbers."""
    selects: frozenset[str] = frozenset()
    """Functions that take a condition and two values, and choose for every number."""
    attends: Mapping[str, Reading] = field(default_factory=dict)
    """Functions that compute attention of values that are split into heads."""
    ranges: frozenset[str] = frozenset()
    """Functions that count as NumPy's `arange` does, under another name."""
    shapes: frozenset[str] = frozenset()
    """Functions that return the shape of a value."""
    means: frozenset[str] = frozenset()
    """Functions that take the mean of all numbers of a value."""
    row_losses: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Functions that give a loss for every row or number, to its kind and a factor."""
    differences: Mapping[str, str] = field(default_factory=dict)
    """Functions of a difference to the kind of loss that their mean is."""
    labels_first: bool = False
    """Whether losses take labels and then outputs."""
    pairs_columns: frozenset[str] = frozenset()
    """Packages whose losses take one number in a column of its own as that number."""
    differentiates: frozenset[str] = frozenset()
    """Functions that return the derivative of a function, whose first parameter is the model."""
    adds_in_place: bool = False
    """Whether `x += y` changes x, and with it all that shares its memory."""
    models: frozenset[str] = frozenset()
    """Models by the functional API."""
    inputs: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    """Functions and classes that compute what the model does that they are given first."""
    pairs: frozenset[str] = frozenset()
    """Functions that return the model, as `wrappers` do, and the optimizer."""
    activations: Mapping[str, Reading] = field(default_factory=dict)
    """What layers take as their activation."""
    initializers: Mapping[str, Fill] = field(default_factory=dict)
    """Classes of initializers, and functions that return one."""
    initializer_names: Mapping[str, Drawn] = field(default_factory=dict)
    """Texts and names of functions that layers take as an initializer."""
    fills: Mapping[str, Fill] = field(default_factory=dict)
    """By the last part of the name of the function or the method."""
    fill_package: str = ""
    """Of the functions; empty for methods alone."""
    weight_options: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Classes that give a weight its `initializer` to the arguments that change how it trains."""
    class_axis: int = -1
    """The axis of the classes in what its cross-entropy takes, for several labels in a row."""

    def layer(self, name: str) -> Reading | None:
        """Return the layer that a class of the library creates."""
        package, _, word = name.rpartition(".")
        return self.layers.get(word) if package == self.package else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWriting:
    """How a file with a loss is written: one number for every row, of outputs and targets."""

    imported: str
    signature: str
    outputs: str
    """Expression: the outputs of `model` for `inputs`, in float32."""
    targets: str
    """Expression: the labels of `batch`, in float32."""
    elements: Mapping[str, tuple[str, ...]]
    """Loss to statements, and the expression with the loss of every element."""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same for losses that a recipe has a kind for, where they are a part of a sum."""
    imports_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Loss to more imports."""
    called: str = "model(**inputs)"
    """Expression: the outputs of `model` for `inputs`."""
    in_float: str = ""
    """Expression: `{0}` in float32."""
    rows: str
    """Expression: `losses` as one number for every row; `{total}` is `sum` or `mean`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWriting:
    """How a model is written: pieces of code, with settings in braces."""

    imports: tuple[str, ...]
    """Lines; names that are not used are left out."""
    helpers: Mapping[str, str] = field(default_factory=dict)
    """Name of a function that pieces of code call, to its text; it is written where it is used."""
    base: str
    """Class of the user's models."""
    signature: str
    """Of the forward pass: `{inputs}` are its parameters, `{training}` may stand behind them."""
    parameter: str = "{name}"
    """One input in the signature."""
    prepared: str = ""
    """Statement that makes a tensor of one input, or takes it out of a parameter."""
    training: str = ""
    """Parameter of the forward pass of a model that computes something else in training."""
    training_argument: str = ""
    """What layers are given that compute something else in training."""
    constructor: tuple[str, ...] = ("def __init__(self) -> None:", "    super().__init__()")
    """Lines before the layers."""
    constructor_end: tuple[str, ...] = ()
    """Statements behind the layers."""
    factory: str = ""
    """Parameters of `build_model`."""
    created: str = "{name}()"
    """Expression: a model with fresh weights."""
    constant: str = ""
    """Statement of the constructor that keeps numbers that are not trained."""
    size: str = "{value}.shape[{axis}]"
    """Expression: the size of an axis of a value."""
    several: str = ""
    """What a forward pass returns that gives several values, where its signature says that."""
    cells: Mapping[str, str] = field(default_factory=dict)
    """Recurrent cell to a function that computes it of the projected inputs and the layer of its
    state; empty where `layers` has recurrent layers."""
    layers: Mapping[str, tuple[str, ...]]
    """Kind to the class and its arguments, with the default that may be left out after `|`. An
    argument whose value is empty is left out."""
    built: Mapping[str, str] = field(default_factory=dict)
    """Kind to a statement that gives a layer its weights, where the constructor does not."""
    operations: Mapping[str, str]
    """Kind to an expression; `{0}` and `{1}` are its inputs."""
    values: Mapping[str, Callable[[Settings], Mapping[str, str]]] = field(default_factory=dict)
    """Kind to more values that its row has in braces, with `{0}` for the input of an operation;
    raises `UnreadableError` for settings that the framework does not have."""
    initials: Mapping[str, str] = field(default_factory=dict)
    """Distribution to an initializer, or to a statement that fills the weight `{w}`."""
    fills: bool = False
    """Whether `initials` are statements behind the layer, and no arguments of it."""
    no_bias: str = ""
    """The initializer of the bias of a layer that has none; empty if an argument says that."""
    pads: frozenset[Pads] = frozenset({"even"})
    """How layers can pad an image; what they cannot say becomes a step of its own."""
    pads_half: bool = False
    """Whether a pool pads by half of its window at most."""
    loss: LossWriting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryModel:
    """A model that a function of a library creates."""

    name: str
    """The same for models of several libraries that have the same layers."""
    head: str = ""
    """The attribute with its last layer, where that is one layer that programs replace."""
    features: int = 0
    """Inputs of the last layer."""
    parameters: int = 0
    """That learn, for 1000 classes; 0 if nobody counted them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryModels:
    """The models of a library."""

    package: str
    models: Mapping[str, LibraryModel]
    """By the name of the function."""
    family: str
    """Models of one name compute the same in libraries of one family."""
    difference: str = ""
    """What is told where the other library is of another family; `{name}` is the function here."""
    positional: tuple[str, ...] = ()
    """The first parameters."""
    loads: Mapping[str, Any]
    """Parameters that load weights, with their defaults."""
    classes: str
    """The parameter with the number of classes."""
    activation: str = ""
    """The parameter with the activation of the last layer, by default softmax."""
    must: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that must have their default."""
    ignored: frozenset[str] = frozenset()
    code: tuple[str, ...]
    """Lines that create a model with random weights: `{name}`, `{classes}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderLibrary:
    """A library whose BERT classifiers are the shipped encoder."""

    package: str
    prefix: str = ""
    """Of its classes: `TF` in `TFBertForSequenceClassification`."""
    harmless: frozenset[str] = frozenset()
    """Arguments of its own that do not change the model."""
    stated: frozenset[str] = frozenset()
    """Fields of the model that a configuration must state, since the default is another one in
    other releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitMethods:
    """Methods by which a model trains itself."""

    package: str
    """Of the models."""
    compiles: str
    fits: str
    class_weights: str = ""
    """The argument of `fits` with a dictionary from classes to weights."""
    rows: tuple[str, ...] = ()
    """Arguments of `fits` with the rows: a data set, or arrays of inputs and of labels."""
    others: str = ""
    """The argument of `fits` with the rows for evaluation."""
    adds: str = ""
    """The method of layers and models that adds a loss to that of `fits`."""
    shuffles: bool = True
    """Whether `fits` draws rows of arrays at random unless it is told."""
    refused: frozenset[str] = frozenset()
    """Arguments of `fits` by which it trains on other rows, or on rows with weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineReading:
    """Data sets of arrays, and methods that return one with changed rows, or changed order."""

    begins: frozenset[str]
    """Functions that are given the arrays."""
    same: frozenset[str]
    """Methods that change no row and no order."""
    stores: str
    """The method after which every epoch has the rows and the order of the first."""
    batches: str
    shuffles: str
    buffer: str
    """The argument of `shuffles` with the number of rows of which the next one is drawn."""
    reshuffles: str
    """The argument of `shuffles` that says whether every epoch has an order of its own."""
    repeats: str
    maps: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptReading:
    """What scripts do around a model: rows, optimizers, and what is left behind."""

    loaders: tuple[str, ...] = ()
    """Classes that make batches of rows."""
    row_classes: tuple[str, ...] = ()
    """Bases of the user's classes of rows, which compute nothing."""
    array_sets: tuple[str, ...] = ()
    """Classes of rows that are given arrays."""
    arrays: Mapping[str, str] = field(default_factory=dict)
    """Functions and types to what they are in NumPy."""
    pipelines: PipelineReading | None = None
    typed_arrays: Mapping[str, str] = field(default_factory=dict)
    """Functions that make an array of one type, to that type in NumPy."""
    class_columns: bool = False
    """Whether rows may give the class as an array of one number."""
    optimizers: str = ""
    """Package of the optimizers that are given the weights to train."""
    filters: Mapping[str, tuple[int, str, str]] = field(default_factory=dict)
    """Functions that are given which weights to train, to the place and the name of that argument,
    and the name that means all weights."""
    loads: frozenset[str] = frozenset()
    """Functions that load a file, which may also have the rows that a loop runs over."""
    left_behind: Mapping[str, str] = field(default_factory=dict)
    """`what` of a kind in `left_behind.KINDS` to a pattern of names."""
    results: tuple[str, ...] = ()
    """Packages of functions whose results are no weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTables:
    """The models of one framework. What is None or empty is not carried, with a reason."""

    backend: str
    """Its name."""
    title: str
    """In sentences."""
    channels: Channels
    """Where operations on images have them."""
    initials: Mapping[str, Mapping[str, Drawn]] = field(default_factory=dict)
    """Kind of layer to `weight` and `bias` to what they are drawn from by default."""
    reading: ModelReading | None = None
    writing: ModelWriting | None = None
    library: LibraryModels | None = None
    encoders: tuple[EncoderLibrary, ...] = ()
    fitting: FitMethods | None = None
    script: ScriptReading = ScriptReading()
    spared: frozenset[str] = frozenset({"layer_norm"})
    """Layers whose weights an emitted script does not decay where a recipe says `layer_norm`."""

    def __post_init__(self) -> None:
        """Refuse what would fail where it is used.

        Raises:
            TypeError: a part has another type.
        """
        parts = {
            "reading": ModelReading,
            "writing": ModelWriting,
            "library": LibraryModels,
            "fitting": FitMethods,
            "script": ScriptReading,
        }
        for name, kind in parts.items():
            part = getattr(self, name)
            if part is not None and not isinstance(part, kind):
                raise TypeError(f"{name} is no {kind.__name__}")
        if not all(isinstance(library, EncoderLibrary) for library in self.encoders):
            raise TypeError("encoders has something that is no EncoderLibrary")
        for part in (self, self.reading, self.writing, self.library, self.script):
            for each in fields(part) if part is not None else ():
                is_mapping = str(each.type).startswith("Mapping")
                if is_mapping and not isinstance(getattr(part, each.name), Mapping):
                    raise TypeError(f"{each.name} is no mapping")
