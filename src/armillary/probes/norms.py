"""The norms of a model: the ellipsoids that they put states on, the radii that a run's sample has, and the last one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float

from armillary.measures.sphere.decoding import Agreement, argmax_agreement, row_variation
from armillary.measures.sphere.norms import (
    NormShape,
    Radii,
    lost_axes,
    norm_radii,
    norm_shape,
    sphere_points,
    without_gain,
)
from armillary.models.decoding import decoded, has_head
from armillary.models.view import View
from armillary.models.weights import Norm
from armillary.probes.weights import finite
from armillary.results.measuring import described
from armillary.results.reading import array, has, numbers
from armillary.results.store import Run

KINDS = {"layer": "LayerNorm", "rms": "RMSNorm"}

TOKENS = 4096
"""Rows of the unembedding that are widened to float32 at a time."""


class Site(NamedTuple):
    """A norm by name, and the layer whose states it reads, or gives where `output`; None where no layer holds them."""

    name: str
    norm: Norm
    layer: int | None
    output: bool


def norm_groups(view: View, run: Run | None = None) -> dict[str, xr.Dataset]:
    """The group /norm_geometry: shapes from the weights, and from the sampled states of a run radii and decoding."""
    sites = norm_sites(view)
    columns = table([norm_shape(*weights_of(site)) for site in sites])
    scalars = {"row_variation": unembedding_variation(view)}
    if run is not None and has(run.results, "sample/states"):
        columns |= table([radii_of(site, run) for site in sites])
        scalars |= agreement(view, run)._asdict()
    kinds = np.array([KINDS[site.norm.kind] for site in sites], dtype=str)
    names = np.array([site.name for site in sites], dtype=str)
    variables: dict[str, Any] = {"kind": ("norm", kinds)}
    variables |= {name: ("norm", column) for name, column in columns.items()}
    variables |= {name: ((), value) for name, value in scalars.items()}
    return {"norm_geometry": described("norm_geometry", xr.Dataset(variables, coords={"norm": names}))}


def table(rows: Sequence[NormShape | Radii]) -> dict[str, np.ndarray]:
    """The fields of equal records as columns."""
    return {name: np.array([getattr(row, name) for row in rows]) for name in rows[0]._fields} if rows else {}


def norm_sites(view: View) -> list[Site]:
    """Every norm over d_model in the order of the pass, by what reads its output.

    In post-norm models the last norm of a block is what the next attention reads, and of the last block the final one.
    Norms of a branch, whose output is added to the stream, are named by what they stand after.
    """
    post, last = view.known_family("norms").place == "post", view.n_blocks
    found: list[tuple[str, Norm | None, int | None, bool]] = []
    for block in range(last):
        found.append((f"attention {block}", view.attention_norm(block), block, post))
        after = view.norm(block, "after_attention")
        found.append((f"mlp {block}" if post else f"after attention {block}", after, None, True))
        if not post:
            found.append((f"mlp {block}", view.norm(block, "before_mlp"), None, False))
            found.append((f"after mlp {block}", view.norm(block, "after_mlp"), None, True))
    found.append(("final", view.norm(last - 1, "after_mlp") if post else view.norm_final(), last, post))
    return [Site(name, norm, layer, output) for name, norm, layer, output in found if norm is not None]


def weights_of(site: Site) -> tuple[Float[np.ndarray, " d_model"], Float[np.ndarray, " d_model"]]:
    """Gain and bias of a norm, float64; refused where a weight is not finite."""
    gain, bias = (
        finite(part, ("d_model",), f"the {name} of the norm {site.name!r}").values.astype(np.float64)
        for part, name in ((site.norm.gain, "gain"), (site.norm.bias, "bias"))
    )
    return gain, bias


def radii_of(site: Site, run: Run) -> Radii:
    """Radii over the sampled tokens, where the sample holds what this norm reads or gives."""
    gain, bias = weights_of(site)
    if site.layer is None:
        return norm_radii(np.zeros((0, len(gain))), gain, bias)
    states = numbers(run.results, "sample/states", layer=site.layer)[ordinary(run)]
    centring = site.norm.kind == "layer"
    if not site.output:
        return norm_radii(sphere_points(states, centring, site.norm.eps), gain, bias)
    found = norm_radii(without_gain(states, gain, bias, centring), gain, bias)
    # A lost coordinate was taken from the sum of the others, which then says nothing about the hyperplane.
    return found._replace(along_ones=float("nan")) if lost_axes(gain, bias).any() else found


def ordinary(run: Run) -> Bool[np.ndarray, " sample"]:
    """Which sampled tokens are not massive."""
    if has(run.results, "sample/massive"):
        return ~array(run.results, "sample/massive").values.astype(bool)
    return np.ones(array(run.results, "sample/states").sizes["sample"], dtype=bool)


def unembedding_variation(view: View) -> float:
    """How unequal the rows of the unembedding are; NaN without a head."""
    if view.W_U is None:
        return float("nan")
    parts = [torch.linalg.vector_norm(rows.float(), dim=1) for rows in view.W_U.T.split(TOKENS)]
    return row_variation(torch.cat(parts).double().cpu().numpy())


def agreement(view: View, run: Run) -> Agreement:
    """Whether sampled last states decode to the same token by logit and by cosine; NaN without a head."""
    if not has_head(view):
        return Agreement(float("nan"), float("nan"))
    chosen = ordinary(run)
    states = array(run.results, "sample/states").isel(layer=-1).values[chosen]
    by_logit, by_cosine = nearest_tokens(view, torch.as_tensor(states))
    return argmax_agreement(by_logit, by_cosine, group_of_sample(run)[chosen])


def nearest_tokens(view: View, states: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest token of each state [row, d_model], and the one whose row of W_U has the largest cosine with it."""
    assert view.W_U is not None
    unit = torch.nn.functional.normalize(view.W_U.float(), dim=0)
    found = [(each.logits.argmax(-1), (each.read.float() @ unit).argmax(-1)) for each in decoded(view, states)]
    by_logit, by_cosine = (torch.cat(parts).cpu().numpy() for parts in zip(*found, strict=True))
    return by_logit, by_cosine


def group_of_sample(run: Run) -> np.ndarray:
    """The group of documents [sample] that each sampled token comes from; one group where the run does not say."""
    context = array(run.results, "sample/context").values.astype(np.int64)
    if not has(run.results, "corpus/group"):
        return np.zeros_like(context)
    return array(run.results, "corpus/group").values.astype(np.int64)[context]
