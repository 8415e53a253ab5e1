"""Border 1: what the pass summed becomes labelled arrays, with the holes of the table filled. No torch beyond here."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from armillary.errors import RequestError
from armillary.measures.decomposition import filled_cells
from armillary.measures.heldout import FOLDS
from armillary.measures.massive import TIMES
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.rooms import Room
from armillary.surveys.running import cores
from armillary.surveys.sums.batch import Large, emptied
from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.moments import Scatter
from armillary.surveys.sums.shelf import Kept
from armillary.surveys.sums.state import State, Stream
from armillary.system.threads import side_by_side


@dataclass(frozen=True)
class Holes:
    """The cells of the (context, position) table that the outlier rule left out, by window, column and group."""

    contexts: Int[np.ndarray, " hole"]
    columns: Int[np.ndarray, " hole"]
    groups: Int[np.ndarray, " hole"]

    @property
    def distinct(self) -> list[int]:
        """The columns that have a hole."""
        return sorted(set(self.columns.tolist()))

    def shifted(self, plan: Plan) -> "Holes":
        """Where the circular shifts of the null move them."""
        return Holes(self.contexts, (self.columns + plan.shifts[self.contexts]) % len(plan.positions), self.groups)


def holes_of(state: State, plan: Plan) -> Holes:
    """The tokens that were left out; refuses a window or a position with nothing left."""
    named = state.outliers.tokens if plan.outliers == "drop" else ()
    contexts = np.array([context for context, _, _ in named], dtype=np.int64)
    columns = np.array([position for _, position, _ in named], dtype=np.int64) - plan.skipped
    for what, where, size, most in (
        ("window", contexts, len(plan.tokens), len(plan.positions)),
        ("position", columns, len(plan.positions), len(plan.tokens)),
    ):
        counts = np.bincount(where, minlength=size)
        if most in counts:
            raise RequestError(
                f"expected a token at every window and position, got none at {what} {int(np.argmax(counts == most))} "
                f"after the outlier rule: read more --contexts, or keep the outliers (--outliers keep)"
            )
    return Holes(contexts, columns, plan.groups[contexts])


def fills(
    rows: Float[np.ndarray, "site context d_model"],
    columns: Float[np.ndarray, "site cell d_model"],
    holes: Holes,
    length: int,
) -> Float[np.ndarray, "hole site d_model"]:
    """What belongs into the holes of a table, from its sums over windows and at the positions `holes.distinct`."""
    sites, _, width = rows.shape
    if not len(holes.contexts):
        return np.zeros((0, sites, width))
    # The fit asks for no other position than those of holes: the rest of this table is never touched, nor in memory.
    by_column = np.zeros((length, sites * width))
    by_column[holes.distinct] = columns.transpose(1, 0, 2).reshape(len(holes.distinct), -1)
    by_row = rows.transpose(1, 0, 2).reshape(rows.shape[1], -1)
    return filled_cells(by_row, by_column, holes.contexts, holes.columns).reshape(-1, sites, width)


@dataclass(frozen=True)
class Table:
    """A (context, position) table at every site, holes filled with the additive fit: one basis, its mean, the fills."""

    context_basis: Float[np.ndarray, "site context d_model"]
    mean: Float[np.ndarray, "site d_model"]
    fill: Float[np.ndarray, "hole site d_model"]


class Sums:
    """The sums of a stream at each position, read one site at a time, on disk or not."""

    def __init__(self, stream: Stream, holes: Holes, shifted: Holes, *, folded: bool) -> None:
        self.groups = [stream.positions.sums[group] for group in sorted(stream.positions.sums)]
        self.null = stream.null.sums
        self.holes, self.shifted, self.folded = holes, shifted, folded

    def cells(self) -> Float[np.ndarray, "site cell d_model"]:
        """The sums over all groups at the positions of holes."""
        first, *others = [picked(group, self.holes.distinct) for group in self.groups]
        for other in others:
            first += other
        return first

    def null_cells(self) -> Float[np.ndarray, "site cell d_model"]:
        """The same of the null, whose holes are shifted."""
        return picked(self.null, self.shifted.distinct)

    def at(self, site: int) -> tuple[Float[np.ndarray, "position d_model"], Float[Tensor, "group position d_model"]]:
        """The sum over all groups at one site, and each group's."""
        groups = torch.stack([group[site] for group in self.groups])
        total = groups[0].numpy().copy()
        for group in groups[1:]:
            total += group.numpy()
        return total, groups


def picked(large: Large, columns: list[int]) -> Float[np.ndarray, "site cell d_model"]:
    """Some positions of every site."""
    if isinstance(large, Kept):
        return np.stack([large.rows(site, columns).numpy() for site in range(len(large))])
    return large[:, columns].numpy()


def null_at(
    sums: Sums, site: int, fill: Float[np.ndarray, "hole site d_model"], contexts: int
) -> Float[np.ndarray, "position d_model"]:
    """The position basis of the circularly shifted windows, their holes filled by their own additive fit; float32."""
    columns = sums.null[site].numpy().copy()
    for value, column in zip(fill[:, site], sums.shifted.columns, strict=True):
        columns[column] += value
    columns -= columns.mean(0, keepdims=True)
    columns /= contexts
    return columns.astype(np.float32)


def kernel(groups: Float[Tensor, "group position d_model"]) -> Float[np.ndarray, "group group_"]:
    """Inner products of the groups' position sums at one site, each group's mean over positions taken off."""
    means, flat = groups.mean(1), groups.flatten(1)
    return torch.mm(flat, flat.T).addmm_(means, means.T, alpha=-groups.shape[1]).numpy()


def fold_means(
    groups: Float[Tensor, "group position d_model"],
    mean: Float[np.ndarray, " d_model"],
    sizes: Float[np.ndarray, " group"],
) -> Float[np.ndarray, "fold position d_model"]:
    """Each fold's mean at each position of one site less the grand mean, float32. The groups' sums are given up."""
    folds = min(FOLDS, len(sizes))
    means = torch.empty(folds, *groups.shape[1:], dtype=torch.float32)
    for fold in range(folds):
        own, *others = groups[fold::folds]
        for other in others:
            own.add_(other)
        means[fold] = own.div_(sizes[fold::folds].sum()).sub_(torch.from_numpy(mean))
    return means.numpy()


def squares(stream: Stream, filled: Table, holes: Holes, groups: int) -> Float[np.ndarray, "site group"]:
    """Each group's sum of squared distances from the grand mean, fills counted."""
    out = np.zeros((len(filled.mean), groups))
    for group, count in stream.spread.counts.items():
        step = stream.spread.means[group].numpy() - filled.mean
        out[:, group] = stream.spread.squares[group].numpy() + count * np.sum(step**2, -1)
    for value, group in zip(filled.fill, holes.groups, strict=True):
        out[:, group] += np.sum((value - filled.mean) ** 2, -1)
    return out


def covariance(scatter: Scatter, filled: Table, site: int, cells: int) -> Float[np.ndarray, "d_model d_model_"]:
    """The covariance of all tokens of the filled table at one site, float32."""
    step = scatter.mean[site].numpy() - filled.mean[site]
    added = filled.fill[:, site] - filled.mean[site]
    matrix = scatter.matrix[site].numpy()
    return ((matrix + scatter.count * np.outer(step, step) + added.T @ added) / cells).astype(np.float32)


def leading_products(
    stream: Stream, filled: Table, holes: Holes, frame: Frame
) -> Float[np.ndarray, "site group direction direction_"]:
    """Each group's Σ y yᵀ in the frame, y the coordinates of a token less the grand mean, fills counted."""
    assert stream.leading is not None
    along = frame.directions.double().numpy()
    step = np.einsum("sd,sdk->sk", filled.mean - frame.centre.numpy(), along)
    out = []
    for group in sorted(stream.leading.products):
        count = stream.spread.counts[group]
        sums = count * np.einsum("sd,sdk->sk", stream.spread.means[group].numpy() - filled.mean, along)
        # Σ (y + step)(y + step)ᵀ was summed, about the frame's centre, with Σ y = sums.
        crossed = sums[:, :, None] * step[:, None, :]
        total = stream.leading.products[group].numpy() - crossed - crossed.swapaxes(1, 2)
        total -= count * step[:, :, None] * step[:, None, :]
        for value, own in zip(filled.fill, holes.groups, strict=True):
            if own == group:
                at = np.einsum("sd,sdk->sk", value - filled.mean, along)
                total += at[:, :, None] * at[:, None, :]
        out.append(total)
    return np.stack(out, 1)


AXES = {
    "position_basis": ("position", "d_model"),
    "position_null": ("position", "d_model"),
    "position_kernel": ("group", "group_"),
    "position_folds": ("fold", "position", "d_model"),
    "covariance": ("d_model", "d_model_"),
}
"""What is made site by site, for it is large or made from what is."""


@torch.inference_mode()
def site_tables(
    sums: Sums,
    rows: Float[np.ndarray, "site context d_model"],
    scatter: Scatter | None,
    plan: Plan,
    folder: Path | None,
) -> tuple[Table, dict[str, np.ndarray]]:
    """The filled table of a stream, and what there is of AXES but the folds' means, one site after the other.

    Takes the sums over windows and turns them into a basis, in place.
    """
    contexts, length, sizes = rows.shape[1], len(plan.positions), np.bincount(plan.groups).astype(np.float64)
    null_fill = fills(rows, sums.null_cells(), sums.shifted, length)
    filled = Table(rows, np.empty((len(rows), rows.shape[2])), fills(rows, sums.cells(), sums.holes, length))
    rooms: dict[str, Room] = {}
    for site in range(len(rows)):
        columns, groups = sums.at(site)
        fill_site(filled, columns, groups, sums.holes, site)
        made = {
            "position_basis": columns,
            "position_null": null_at(sums, site, null_fill, contexts),
            "position_kernel": kernel(groups),
        }
        if scatter is not None:
            made["covariance"] = covariance(scatter, filled, site, contexts * length)
        if sums.folded:
            made["position_folds"] = fold_means(groups, filled.mean[site], sizes)
        for name, values in made.items():
            if name not in rooms:
                rooms[name] = Room((len(rows), *values.shape), values.dtype, folder)
            rooms[name].add(site, values)
    for large in (*sums.groups, sums.null, *([scatter.matrix] if scatter is not None else ())):
        if isinstance(large, Tensor):
            emptied(large)
    return filled, {name: room.whole() for name, room in rooms.items()}


def fill_site(
    filled: Table,
    columns: Float[np.ndarray, "position d_model"],
    groups: Float[Tensor, "group position d_model"],
    holes: Holes,
    site: int,
) -> None:
    """Fill the holes of one site, its sums and its groups', and turn the sums into bases about its mean; in place."""
    rows = filled.context_basis[site]
    for value, context, column, group in zip(
        filled.fill[:, site], holes.contexts, holes.columns, holes.groups, strict=True
    ):
        rows[context] += value
        columns[column] += value
        groups[int(group), int(column)] += torch.from_numpy(value)
    mean = filled.mean[site]
    mean[:] = columns.sum(0) / (len(rows) * len(columns))
    rows /= len(columns)
    rows -= mean
    columns /= len(rows)
    columns -= mean


def stream_dataset(
    stream: Stream, plan: Plan, holes: Holes, axis: str, frame: Frame, folder: Path | None
) -> xr.Dataset:
    """Mean, bases, fold means, null, spread and norms of one stream, which is given up."""
    rows = in_order(stream, len(plan.tokens))
    sums = Sums(stream, holes, holes.shifted(plan), folded=axis == "layer")
    filled, by_site = site_tables(sums, rows, stream.scatter, plan, folder)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        "mean": ((axis, "d_model"), filled.mean),
        "context_basis": ((axis, "context", "d_model"), filled.context_basis),
        "squares": ((axis, "group"), squares(stream, filled, holes, len(sums.groups))),
        **{name: ((axis, *AXES[name]), values) for name, values in by_site.items()},
        **norm_variables(stream, axis),
    }
    if stream.first.count:
        variables["first"] = ((axis, "d_model"), stream.first.sums.numpy() / stream.first.count)
    if stream.leading is not None:
        products = leading_products(stream, filled, holes, frame)
        variables["leading_groups"] = ((axis, "group", "direction", "direction_"), products)
    return xr.Dataset(variables, coords={"position": plan.positions})


@torch.inference_mode()
def in_order(stream: Stream, contexts: int) -> Float[np.ndarray, "site context d_model"]:
    """The sums over each window, in the order of the windows. Empties the chunks, to not hold both at once."""
    chunks = stream.contexts.sums
    sites, _, width = next(iter(chunks.values())).shape
    rows = torch.empty(sites, contexts, width, dtype=torch.float64)
    for start in sorted(chunks):
        rows[:, list(stream.contexts.order[start])] = chunks[start]
        emptied(chunks[start])
    return rows.numpy()


def norm_variables(stream: Stream, axis: str) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Mean norm by group and position, and the largest norm at each position."""
    groups = sorted(stream.norms.sums)
    sums = np.stack([stream.norms.sums[g].numpy() for g in groups], 1)
    counts = np.stack([stream.norms.counts[g].numpy() for g in groups])
    return {
        "norm_groups": ((axis, "group", "position"), sums / np.where(counts, counts, np.nan)),
        "norm_largest": ((axis, "position"), stream.norms.largest.numpy()),
    }


def same_for_attention(residual: xr.Dataset, plan: Plan) -> xr.Dataset:
    """The inputs of the attentions in a post-norm model: they are the residual stream, state by state."""
    same = residual.isel(layer=slice(0, -1)).rename(layer="block")
    same = same.drop_vars(["holes", "position_folds", "leading_groups"])
    return same if plan.scatter == "attention" else same.drop_vars("covariance")


def outlier_dataset(state: State, medians: torch.Tensor) -> xr.Dataset:
    """The tokens of massive norm: where they stand, and how long they are in every layer."""
    places = np.array(state.outliers.tokens, dtype=np.int64).reshape(-1, 3)
    ratios = [ratio.numpy() for ratio in state.outliers.ratios]
    return xr.Dataset(
        {
            "context": ("outlier", places[:, 0]),
            "position": ("outlier", places[:, 1]),
            "token": ("outlier", places[:, 2]),
            "ratio": (("outlier", "layer"), np.array(ratios).reshape(-1, len(medians))),
            "median_norm": ("layer", medians.numpy()),
            "threshold": TIMES,
        }
    )


def sample_dataset(state: State) -> xr.Dataset:
    """The drawn tokens with their states in all layers, float32."""
    drawn = state.sample.tokens
    return xr.Dataset(
        {
            "states": (("layer", "sample", "d_model"), torch.cat(state.sample.states, dim=1).numpy()),
            "context": ("sample", np.array([token[0] for token in drawn])),
            "position": ("sample", np.array([token[1] for token in drawn])),
            "token": ("sample", np.array([token[2] for token in drawn])),
            "massive": ("sample", np.array([token[3] for token in drawn])),
        }
    )


def captured_groups(
    state: State, plan: Plan, first: Pilot, *, attention: bool, folder: Path | None = None
) -> dict[str, xr.Dataset]:
    """Everything that the pass gave, as the schema's groups; the state is given up. What is large goes to `folder`."""
    holes = holes_of(state, plan)
    streams = {"layer": state.residual, "block": state.attention if attention else None}

    def dataset(axis: str) -> xr.Dataset | None:
        stream = streams[axis]
        with cores(1):
            return stream_dataset(stream, plan, holes, axis, first.frame, folder) if stream is not None else None

    residual, apart = side_by_side(dataset, streams)
    assert residual is not None
    captured = {"residual": residual.assign(holes=len(holes.contexts))}
    if attention:
        captured["attention"] = same_for_attention(captured["residual"], plan) if apart is None else apart
    return {**captured, "outliers": outlier_dataset(state, first.medians), "sample": sample_dataset(state)}
