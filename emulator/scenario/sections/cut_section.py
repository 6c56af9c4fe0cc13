"""The key `training.fully_connected`: a model that is cut between the devices and the server.

Omnivore (Hadjis et al., 2016) merges the fully connected layers with the server: devices hold the
layers before the first dense layer, and exchange activations in place of the dense layers'
parameters. Split learning (Gupta & Raskar, 2018) is the same with a cut behind any layer.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic_core import core_schema

from ...core.plan import Cut
from ...layout import Layout
from ...learning.models import Model
from ..reading.wording import not_among, quoted
from .devices import Section
from .fields import Name

SERVER = "server"
_PLACES = {SERVER: "Cut before the first dense layer: the server holds all later layers."}
_AFTER = "after: LAYER"


class LayerId:
    """Reads a layer of the model: a number from 1 at the input, or a name, for example `conv1`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}

    def _check(self, layer: Any) -> int | str:
        if isinstance(layer, int | str) and not isinstance(layer, bool):
            return layer
        raise ValueError(f"{quoted(layer)} is no layer: write its number from 1 up, or its name")


class After(Section):
    """Cut behind a layer of the model, the cut layer: devices hold the layer and all before it."""

    after: Annotated[int | str, LayerId()]
    """Last layer that devices hold: its number, counted from 1 at the input, or the name that its
    variables begin with, for example `conv1`."""


class CutPlace:
    """Reads the place of a cut: the word `server`, or a mapping as `After`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        word = core_schema.no_info_plain_validator_function(_word)
        choices = {SERVER: word, _AFTER: handler.generate_schema(After)}
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        words = Name(_PLACES).__get_pydantic_json_schema__(None, None)
        return {"anyOf": [words, handler(schema["choices"][_AFTER])]}

    def _tag(self, value: Any) -> str:
        return _AFTER if isinstance(value, dict | After) else SERVER


def _word(place: Any) -> str:
    if place == SERVER:
        return SERVER
    raise ValueError(not_among(place, [SERVER, f"{{{_AFTER}}}"]))


Place: TypeAlias = str | After


class FullyConnected(Section):
    """Place of the fully connected layers, or of any last layers: a cut divides the model. The
    devices compute the layers before the cut and send their outputs, the activations; the server
    computes the later layers, trains them, and answers with the gradient by the activations."""

    place: Annotated[Place, CutPlace()]
    """Place of the cut: `server` before the first dense layer, `{after: LAYER}` behind any other
    layer."""
    labels: Literal["sent", "local"] = "sent"
    """Labels of the examples: `sent` to the server with the activations, or `local`: they stay on
    the device, which computes the loss from the server's outputs, one more exchange an update."""
    values: Literal["f32", "f16"] = "f32"
    """Coding of activations and of their gradients: `f32`, or `f16` for half the bytes."""

    def cut(self, model: Model) -> Cut:
        """Return the cut of `model`. Raises ValueError with the reason if there is no such cut."""
        return Cut(cut_layer(self.place, model), self.labels, self.values)


def cut_layer(place: Place, model: Model) -> int:
    """Return the number of the last layer that devices hold, from 1.

    Raises ValueError if `model` has no such layer, or leaves devices or server without a layer.
    """
    layer = _last_on_devices(place, model) if isinstance(place, After) else model.before_dense()
    model.crossing(layer)  # raises ValueError if the model cannot be cut there
    return layer


def _last_on_devices(place: After, model: Model) -> int:
    names = layer_names(model.layout)
    layer = place.after if isinstance(place.after, int) else _number(place.after, names)
    if layer == len(names) > 1:
        raise ValueError(
            f"layer {layer} is the last of {model.title}, so the server would hold nothing: take a "
            f"layer from 1 to {layer - 1}"
        )
    return layer


def layer_names(layout: Layout) -> list[str]:
    """Return the names of the layers. A variable's name begins with the name of the layer."""
    parts = (layout.part((number, number)) for number in range(1, len(layout.layers) + 1))
    return [part.variables[0].name.split("/")[0] for part in parts]


def _number(name: str, names: list[str]) -> int:
    if name in names:
        return names.index(name) + 1
    raise ValueError(
        f"{quoted(name)} is no layer: the layers are {', '.join(names)}, or 1 to {len(names)}"
    )
