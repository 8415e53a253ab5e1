"""One text's states on the sphere, layer by layer: their paths, what they decode to, and where they stand in 3-D."""

import warnings
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int

from armillary.corpora.tokens import token_text
from armillary.errors import NonFiniteError, RequestError
from armillary.measures.similarity import unit_vectors
from armillary.measures.sphere.decoding import settled_layer
from armillary.measures.sphere.paths import mean_path, paths
from armillary.measures.sphere.projection import principal_directions, share_along
from armillary.models import load
from armillary.models.decoding import has_head, likeliest, refuse_headless
from armillary.models.states import reading
from armillary.models.view import View
from armillary.probes.control import CONTROL_SEED
from armillary.prompts.ids import Ids
from armillary.results.labels import labelled
from armillary.results.measuring import described

CHOICES = 5
"""How many tokens a state is decoded to."""

EMBEDDINGS, CLOUD = 5000, 600
"""On how many token embeddings directions are fitted, and how many of these are kept to be drawn."""

FITTED = 1500
"""On how many of these UMAP is fitted. A seed fixes the fit; where states come to stand in it may vary."""

States = Float[np.ndarray, "layer position d_model"]


class Embeddings(NamedTuple):
    """Directions of sampled token embeddings as states are seen, their ids, and what they are in words."""

    points: Float[np.ndarray, "token d_model"]
    token: Int[np.ndarray, " token"]
    words: str


def refuse_unfit(view: View, *, lens: bool | None, umap: bool) -> None:
    """Refuse, before the model runs, what it or this machine cannot give."""
    view.known_family("the final norm")
    if lens:
        refuse_headless(view)
    if umap and find_spec("umap") is None:
        raise RequestError("expected umap-learn for umap, got no such package: pip install 'armillary[umap]'")


def travel_groups(view: View, ids: Ids, *, seed: int, lens: bool | None, umap: bool) -> dict[str, xr.Dataset]:
    """The group /travel of one row of token ids."""
    stream = stream_states(view, ids)
    states, counted = on_sphere(view, stream), counted_tokens(view, ids)
    control = load(view.model, random_weights=seed + CONTROL_SEED, check=False)
    null = on_sphere(control, stream_states(control, ids))
    axes = ("layer", "position", "d_model")
    places, fitted_on = places_of(view, states, seed, umap)
    parts = [
        labelled(paths)({"states": xr.DataArray(states, dims=axes)}),
        labelled(mean_path)(
            {"states": xr.DataArray(null, dims=axes), "counted": xr.DataArray(counted, dims="position")}
        ),
        lens_of(view, stream) if has_head(view) and lens is not False else xr.Dataset(),
        places,
    ]
    whole = xr.merge(parts, join="exact").assign(
        token=("position", ids), text=("position", texts_of(view, ids)), counted=("position", counted)
    )
    about = {"lens": lens_words(view, lens), "fitted_on": fitted_on, "states": state_words(view), "seed": seed}
    return {"travel": described("travel", whole).assign_attrs(about)}


def followed(view: View, ids: Ids, states: States) -> xr.Dataset:
    """Where states that were read already stand on the sphere, without the lens and without the control."""
    stream = [torch.from_numpy(state).to(view.model.device, view.model.dtype) for state in states]
    places, _ = places_of(view, on_sphere(view, stream), seed=0, umap=False)
    counted = counted_tokens(view, ids)
    return places.assign(text=("position", texts_of(view, ids)), counted=("position", counted))


def stream_states(view: View, ids: Ids) -> list[torch.Tensor]:
    """The hidden states [position, d_model] of every layer, before a final norm; refused where not finite."""
    with torch.inference_mode(), reading(view, attention=False) as read:
        view.run(ids[None])
        states, _ = read.take(view.n_blocks)
    for layer, state in enumerate(states):
        if not bool(torch.isfinite(state).all()):
            raise NonFiniteError(
                f"expected finite hidden states, got NaN or infinite ones in layer {layer} of {view.name}: "
                "load it with dtype float32"
            )
    return [state[0] for state in states]


def on_sphere(view: View, stream: list[torch.Tensor]) -> States:
    """The states of every layer through the model's own final norm, as they are where it has none."""
    with torch.inference_mode():
        seen = [state if view.final_norm is None else view.final_norm(state) for state in stream]
        return np.stack([state.float().cpu().numpy() for state in seen])


def state_words(view: View) -> str:
    """What the states are that paths lead through."""
    if view.final_norm is not None:
        return "every layer through the final norm"
    return "every layer as the model gives it: it has no final norm"


def lens_words(view: View, lens: bool | None) -> str:
    """How states were decoded, or why not."""
    if not has_head(view):
        return f"nothing is decoded: {type(view.model).__name__} has no language head"
    if lens is False:
        return "nothing is decoded: the lens was left out"
    return f"the model's own {'final norm and ' if view.final_norm is not None else ''}head"


def counted_tokens(view: View, ids: Ids) -> Bool[np.ndarray, " position"]:
    """Which tokens enter means: not position 0, not special ones; all where nothing else is left."""
    counted = ~np.isin(ids, np.array(getattr(view.tokenizer, "all_special_ids", ()), dtype=np.int64))
    counted[0] = False
    return counted if counted.any() else np.ones_like(counted)


def texts_of(view: View, ids: Int[np.ndarray, "*batch"]) -> np.ndarray:
    """The texts of tokens, escaped, each decoded once."""
    different, place = np.unique(ids, return_inverse=True)
    texts = np.array([token_text(view.tokenizer, int(token)) for token in different], dtype=str)
    return texts[place].reshape(ids.shape)


def lens_of(view: View, stream: list[torch.Tensor]) -> xr.Dataset:
    """What every state decodes to: the likeliest tokens with their probabilities, and where the first one settles."""
    states = torch.stack(stream)
    shape = (*states.shape[:2], -1)
    token, probability = (found.reshape(shape) for found in likeliest(view, states.flatten(0, 1), CHOICES))
    axes = ("layer", "position", "choice")
    return xr.Dataset(
        {
            "top_token": (axes, token),
            "top_text": (axes, texts_of(view, token)),
            "top_probability": (axes, probability),
            "settled": ("position", settled_layer(token[..., 0])),
        }
    )


def places_of(view: View, states: States, seed: int, umap: bool) -> tuple[xr.Dataset, str]:
    """Coordinates of the states' directions in three dimensions, and what their axes were fitted on."""
    points = unit_vectors(states)
    flat = np.nan_to_num(points.reshape(-1, points.shape[-1]))
    embeddings = sampled_embeddings(view, seed)
    cloud = Embeddings(flat, np.zeros(0, dtype=np.int64), "the states themselves") if embeddings is None else embeddings
    fitted, own = principal_directions(cloud.points), principal_directions(flat)
    shown = cloud.points[: CLOUD if len(cloud.token) else 0]
    at, beside = ("layer", "position", "mode"), ("embedding", "mode")
    variables: dict[str, Any] = {
        "coordinate": (at, points @ fitted.directions.T),
        "cloud": (beside, shown @ fitted.directions.T),
        "variance_share": ("mode", fitted.variance_share),
        "path_share": ("mode", share_along(flat, fitted.directions)),
        "coordinate_own": (at, points @ own.directions.T),
        "cloud_own": (beside, shown @ own.directions.T),
        "path_share_own": ("mode", own.variance_share),
        "cloud_text": ("embedding", texts_of(view, cloud.token[:CLOUD])),
    }
    if umap:
        states_umap, shown_umap = umap_places(cloud.points, flat, len(shown), seed)
        variables |= {"umap": (at, states_umap.reshape(*points.shape[:2], -1)), "cloud_umap": (beside, shown_umap)}
    return xr.Dataset(variables), cloud.words


def sampled_embeddings(view: View, seed: int) -> Embeddings | None:
    """Token embeddings drawn at random, through the norm that states of layer 0 went through.

    None where the model stores embeddings in another width than its stream.
    """
    W_E = view.W_E
    if W_E.shape[1] != view.d_model:
        return None
    count = min(EMBEDDINGS, len(W_E))
    token = np.random.default_rng(seed).choice(len(W_E), count, replace=False).astype(np.int64)
    norm = view.final_norm if view.final_norm is not None else view.attention_norm(0)
    with torch.inference_mode():
        rows = W_E[torch.as_tensor(token, device=W_E.device)] * view.embedding_scale
        seen = (rows if norm is None else norm(rows)).float().cpu().numpy()
    words = f"{count} of {len(W_E)} token embeddings" + ("" if norm is None else f" through the {embedding_norm(view)}")
    return Embeddings(np.nan_to_num(unit_vectors(seen)), token, words)


def embedding_norm(view: View) -> str:
    """Which norm embeddings go through to stand beside states."""
    return "final norm" if view.final_norm is not None else "embedding's norm"


def umap_places(
    cloud: Float[np.ndarray, "token d_model"], states: Float[np.ndarray, "state d_model"], shown: int, seed: int
) -> tuple[Float[np.ndarray, "state mode"], Float[np.ndarray, "some mode"]]:
    """States and some embeddings in three dimensions by UMAP with cosine distances, fitted on the embeddings."""
    try:
        from umap import UMAP  # an extra: whoever does not ask for it need not have it
    except ImportError as error:
        raise RequestError(
            f"expected a umap-learn that can be imported, got an error ({error}): pip install 'armillary[umap]' again"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that a seed costs speed, as is meant
        fitted = UMAP(n_components=3, metric="cosine", random_state=seed).fit(cloud[:FITTED])
        return np.asarray(fitted.transform(states)), np.asarray(fitted.embedding_[:shown])
