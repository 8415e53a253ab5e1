"""The axis vocabulary, and `labelled`: a measure of plain arrays lifted to named axes by its own signature."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

COMPONENTS = ("position", "context", "residual")
"""What stands along the axis `component`, in this order."""

AXES: dict[str, str] = {
    "layer": "states of the residual stream, 0 = what block 0 receives, n = what the last block gives",
    "block": "transformer blocks 0..n-1; block l receives state l",
    "head": "attention heads of a block",
    "kv_head": "key/value heads of a block (fewer than heads under grouped-query attention)",
    "position": "index in the window as the model saw it, a BOS or CLS token counted",
    "context": "windows of the corpus, in the order in which they were read",
    "group": "groups of whole documents, the units of the jackknife",
    "fold": "folds of groups, for what is found without some documents and measured on them",
    "document": "documents of the corpus that gave at least one window",
    "query": "position of the token that attends",
    "key": "position of the token that is attended to",
    "query_bin": "at most 16 equal bins of the query's position, named by their first position",
    "key_bin": "at most 16 equal bins of the key's position, named by their first position",
    "span": "bins of the distance between query and key: 0, 1, 2, 3-4, 5-8, 9-16, ..., named by their smallest",
    "distance": "how many tokens a query stands after a key",
    "place": "places of a key in the window, counted from 1, at which ρ is computed",
    "plane": "planes of a head that RoPE turns, the fastest first",
    "matrix": "whole matrices of a block: query, key, value, output and those of the MLP",
    "norm": "norms by what reads their output (attention 3, mlp 3, final) or gives their input (after mlp 3)",
    "embedding": "token embeddings drawn at random from the vocabulary",
    "choice": "tokens that a state decodes to, the likeliest first",
    "store": "the two products of a head's weights: W_QK, W_VO",
    "side": "query and key side of W_QK, input and output side of W_VO",
    "triplet": "singular triplets that are read as tokens, largest first, counted from 1",
    "end": "positive and negative end of a direction",
    "rank": "places in a ranking of tokens or words, the best first, counted from 1",
    "repeat": "windows of random tokens that come twice",
    "token": "tokens of the vocabulary",
    "word": "words of a text",
    "sample": "single tokens drawn at random from all windows, with their states in all layers",
    "outlier": "tokens of massive norm",
    "d_model": "coordinates of the residual stream",
    "d_head": "coordinates of one head",
    "mode": "singular or eigen modes, or coordinates by their variance, largest first",
    "direction": "directions along which the states of the first windows vary most",
    "size": "numbers of sampled tokens",
    "k": "the largest rank that ScreeNOT thinks possible",
    "frequency": "frequencies of the discrete cosine transform",
    "component": ", ".join(COMPONENTS),
    "part": "mean, position, residual",
    "part_query": "parts of the input that make the query: mean, position, residual",
    "part_key": "parts of the input that make the key: mean, position, residual",
    "pair": "pairs of a query and a key, the strongest first",
    "shots": "how many worked examples stand before a question",
    "order": "order of a finite difference",
    "site": "places in the model where states are read",
    "score": "differences between two scores",
    "deviation": "standard deviations of scores",
    "keys": "numbers of keys",
    "example": "heads that are shown as examples",
    "setting": "settings of a simulation: a covariance, and mean and scale of the eigenvalues of W_QK",
    "xi": "values of ξ = tr W / √tr W²",
    "xi_growing": "values of ξ that grow while ξη is held fixed",
    "eta": "values of η = √tr W²",
    "product": "values of ξη = tr W",
    "nu": "values of ν, the largest norm of a query's scores",
    "claim": "claims of the documents: by id in the registry, in words in a sweep",
    "projection": "maps that two tokens go through: W_Q, W_K or W_V both, or W_Q and W_K",
    "variant": "the model, its random-weight control, and the model with W_Q and W_K multiplied by α",
    "stack": "kinds of random stacks: share β of attention beside the skip, with or without a norm",
    "depth": "layers that random tokens went through",
    "step": "steps of training: updates of the weights, 0 before the first",
    "digits": "digits of the numbers that are added",
    "kappa_scale": "strengths κ₁ of the LocAteR penalty on tr(W_QKᵀ W_QK)",
    "kappa_trace": "strengths κ₂ of the LocAteR penalty on (tr W_QK − 1)²",
    "seed": "random seeds of training",
    "baseline": "what the strongest penalty is compared with: κ₂ = 0 at the same κ₁, or no penalty",
}
"""Every axis of every result, and what runs along it. A second axis of the same kind ends in an underscore."""


def axes_of(annotation: Any) -> tuple[str, ...] | None:
    """The axis names of a shape annotation: `Float[ndarray, "position d_model"]` → ("position", "d_model")."""
    if annotation in (float, int, bool):
        return ()
    text = getattr(annotation, "dim_str", None)
    return None if text is None else tuple(text.split())


def outputs_of(measure: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """The names and axes of what a measure returns: the fields of its NamedTuple, or its own name."""
    returned = typing.get_type_hints(measure)["return"]
    if hasattr(returned, "_fields"):
        hints = typing.get_type_hints(returned)
        return {name: axes_of(hints[name]) or () for name in returned._fields}
    return {measure.__name__: axes_of(returned) or ()}


def labelled(measure: Callable[..., Any], each: Callable[..., Iterable[Any]] = map) -> Callable[..., xr.Dataset]:
    """Lift a measure to labelled arrays.

    The measure's parameters are looked up by name, its core axes are read from its annotations, and every axis that is
    not named there (layer, block, ...) is looped over, by `map` or what is given for it. The result is a Dataset with
    one variable per returned field.

    >>> import numpy as np, xarray as xr
    >>> from jaxtyping import Float
    >>> def largest(spectrum: Float[np.ndarray, "mode"]) -> float:
    ...     return float(spectrum.max())
    >>> spectra = xr.DataArray([[3.0, 1.0], [5.0, 2.0]], dims=("layer", "mode"))
    >>> labelled(largest)({"spectrum": spectra}).largest.values.tolist()
    [3.0, 5.0]
    """
    hints = typing.get_type_hints(measure)
    core = {name: axes_of(hints[name]) for name in inspect.signature(measure).parameters if name in hints}
    outputs = outputs_of(measure)

    def lifted(arrays: Mapping[str, Any], **options: Any) -> xr.Dataset:
        given = {name: arrays[name] for name in core if name not in options and name in arrays}
        named = {name: value for name, value in given.items() if isinstance(value, xr.DataArray)}
        loops = loop_axes(named, core)
        slices = {name: sliced(value, core[name]) for name, value in given.items()}

        def one(at: dict[str, int]) -> tuple[Any, ...]:
            return fields(measure(**{name: of(at) for name, of in slices.items()}, **options))

        rows = list(each(one, indices(loops)))
        stacked = {
            name: (
                (*loops, *axes),
                np.stack([np.asarray(row[i]) for row in rows]).reshape((*loops.values(), *np.shape(rows[0][i]))),
            )
            for i, (name, axes) in enumerate(outputs.items())
        }
        return xr.Dataset(
            stacked, coords=coordinates(named.values(), {a for dims, _ in stacked.values() for a in dims})
        )

    lifted.__name__, lifted.__doc__ = measure.__name__, measure.__doc__
    return lifted


def loop_axes(named: Mapping[str, xr.DataArray], core: Mapping[str, tuple[str, ...] | None]) -> dict[str, int]:
    """The axes that the measure does not name itself, with their lengths."""
    loops: dict[str, int] = {}
    for name, array in named.items():
        for axis in array.dims:
            if axis not in (core[name] or ()):
                loops[str(axis)] = array.sizes[axis]
    return loops


def indices(loops: Mapping[str, int]) -> list[dict[str, int]]:
    """Every combination of the looped axes."""
    return [dict(zip(loops, at, strict=True)) for at in np.ndindex(*loops.values())]


def sliced(value: Any, axes: tuple[str, ...] | None) -> Callable[[Mapping[str, int]], Any]:
    """Slices of a labelled array at indices of the looped axes, their axes in the order that the measure asks for."""
    if not isinstance(value, xr.DataArray):
        return lambda at: value
    looped = [axis for axis in value.dims if axis not in (axes or ())]
    values = value.transpose(*looped, *(axes or ())).values

    def slice_at(at: Mapping[str, int]) -> Any:
        found = values[tuple(at[str(axis)] for axis in looped)]
        return found.item() if axes == () else found

    return slice_at


def fields(result: Any) -> tuple[Any, ...]:
    """What a measure returned, as a tuple."""
    return tuple(result) if isinstance(result, tuple) else (result,)


def coordinates(arrays: Iterable[xr.DataArray], axes: set[str]) -> dict[str, xr.DataArray]:
    """The coordinates that the inputs carry for the axes of the results."""
    found: dict[str, xr.DataArray] = {}
    for array in arrays:
        for name, coordinate in array.coords.items():
            if coordinate.dims == (name,) and name in axes:
                found[str(name)] = coordinate
    return found
