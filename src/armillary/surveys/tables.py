"""Border 1: what the pass summed becomes labelled arrays, with the holes of the table filled. No torch beyond here."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int

from armillary.errors import RequestError
from armillary.measures.decomposition import filled_cells
from armillary.measures.heldout import FOLDS
from armillary.measures.massive import TIMES
from armillary.surveys.pilot import Pilot
from armillary.surveys.plan import Plan
from armillary.surveys.running import cores
from armillary.surveys.sums.batch import emptied
from armillary.surveys.sums.frame import Frame
from armillary.surveys.sums.moments import Scatter
from armillary.surveys.sums.state import State, Stream
from armillary.system.threads import side_by_side


@dataclass(frozen=True)
class Holes:
    """The cells of the (context, position) table that the outlier rule left out, by window, column and group."""

    contexts: Int[np.ndarray, " hole"]
    columns: Int[np.ndarray, " hole"]
    groups: Int[np.ndarray, " hole"]

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
    rows: Float[np.ndarray, "site context d_model"], columns: Float[np.ndarray, "site position d_model"], holes: Holes
) -> Float[np.ndarray, "hole site d_model"]:
    """What belongs into the holes of a table, from its sums over windows and at positions."""
    shape = (len(holes.contexts), rows.shape[0], rows.shape[2])
    if not len(holes.contexts):
        return np.zeros(shape)
    by_row, by_column = (part.transpose(1, 0, 2).reshape(part.shape[1], -1) for part in (rows, columns))
    return filled_cells(by_row, by_column, holes.contexts, holes.columns).reshape(shape)


@dataclass(frozen=True)
class Table:
    """A (context, position) table, holes filled with the additive fit: its two bases, its mean, and the fills."""

    context_basis: Float[np.ndarray, "site context d_model"]
    position_basis: Float[np.ndarray, "site position d_model"]
    mean: Float[np.ndarray, "site d_model"]
    fill: Float[np.ndarray, "hole site d_model"]


def table(
    rows: Float[np.ndarray, "site context d_model"], columns: Float[np.ndarray, "site position d_model"], holes: Holes
) -> Table:
    """The filled table of one stream. Takes its sums over and turns them into the bases, in place."""
    fill = fills(rows, columns, holes)
    for value, context, column in zip(fill, holes.contexts, holes.columns, strict=True):
        rows[:, context] += value
        columns[:, column] += value
    mean = columns.sum(1) / (rows.shape[1] * columns.shape[1])
    rows /= columns.shape[1]
    rows -= mean[:, None]
    columns /= rows.shape[1]
    columns -= mean[:, None]
    return Table(rows, columns, mean, fill)


def null_basis(stream: Stream, rows: np.ndarray, holes: Holes) -> Float[np.ndarray, "site position d_model"]:
    """The position basis of the circularly shifted windows, their holes filled by their own additive fit; float32."""
    columns = stream.null.sums.numpy().copy()
    for value, column in zip(fills(rows, columns, holes), holes.columns, strict=True):
        columns[:, column] += value
    columns -= columns.mean(1, keepdims=True)
    columns /= rows.shape[1]
    return columns.astype(np.float32)


def sum_of(sums: dict[int, torch.Tensor]) -> Float[np.ndarray, "site position d_model"]:
    """The sums over all groups."""
    first, *others = sums.values()
    total = first.numpy().copy()
    for group in others:
        total += group.numpy()
    return total


@torch.inference_mode()
def fill_groups(sums: dict[int, torch.Tensor], filled: Table, holes: Holes) -> None:
    """Put the fills of the holes into their groups' sums."""
    for value, group, column in zip(filled.fill, holes.groups, holes.columns, strict=True):
        sums[int(group)][:, column] += torch.from_numpy(value)


@torch.inference_mode()
def kernels(sums: dict[int, torch.Tensor]) -> Float[np.ndarray, "site group group_"]:
    """Inner products of the groups' position sums, each group's mean over positions taken off."""
    groups = [sums[group] for group in sorted(sums)]
    out = torch.empty(len(groups[0]), len(groups), len(groups), dtype=torch.float64)
    stacked = torch.empty(len(groups), *groups[0].shape[1:], dtype=torch.float64)  # one room for all sites
    for site, kernel in enumerate(out):
        torch.stack([group[site] for group in groups], out=stacked)
        means, flat = stacked.mean(1), stacked.flatten(1)
        torch.mm(flat, flat.T, out=kernel)
        kernel.addmm_(means, means.T, alpha=-stacked.shape[1])
    return out.numpy()


@torch.inference_mode()
def fold_means(
    sums: dict[int, torch.Tensor], mean: Float[np.ndarray, "site d_model"], sizes: Float[np.ndarray, " group"]
) -> Float[np.ndarray, "site fold position d_model"]:
    """Each fold's mean at each position less the grand mean, float32. Empties the sums, to not hold both at once."""
    first, folds = next(iter(sums.values())), min(FOLDS, len(sizes))
    # Pages of torch are quicker to come by than the huge ones of numpy.
    means = torch.empty(len(first), folds, *first.shape[1:], dtype=torch.float32)
    for fold in range(folds):
        own, *others = (sums[group] for group in range(fold, len(sizes), folds))
        for other in others:
            own.add_(other)
            emptied(other)
        means[:, fold] = own.div_(sizes[fold::folds].sum()).sub_(torch.from_numpy(mean)[:, None])
        emptied(own)
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


def covariance(scatter: Scatter, filled: Table) -> Float[np.ndarray, "site d_model d_model_"]:
    """The covariance of all tokens of the filled table, float32."""
    cells = filled.context_basis.shape[1] * filled.position_basis.shape[1]
    out = np.empty(scatter.matrix.shape, np.float32)
    for site, matrix in enumerate(scatter.matrix.numpy()):
        step = scatter.mean[site].numpy() - filled.mean[site]
        added = filled.fill[:, site] - filled.mean[site]
        out[site] = (matrix + scatter.count * np.outer(step, step) + added.T @ added) / cells
    return out


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


def stream_dataset(stream: Stream, plan: Plan, holes: Holes, axis: str, frame: Frame) -> xr.Dataset:
    """Mean, bases, fold means, null, spread and norms of one stream, which is given up."""
    sizes = np.bincount(plan.groups).astype(np.float64)
    rows = in_order(stream, len(plan.tokens))
    null = null_basis(stream, rows, holes.shifted(plan))
    filled = table(rows, sum_of(stream.positions.sums), holes)
    fill_groups(stream.positions.sums, filled, holes)
    variables = {
        "mean": ((axis, "d_model"), filled.mean),
        "position_basis": ((axis, "position", "d_model"), filled.position_basis),
        "context_basis": ((axis, "context", "d_model"), filled.context_basis),
        "position_null": ((axis, "position", "d_model"), null),
        "position_kernel": ((axis, "group", "group_"), kernels(stream.positions.sums)),
        "squares": ((axis, "group"), squares(stream, filled, holes, len(sizes))),
        **norm_variables(stream, axis),
    }
    if stream.first.count:
        variables["first"] = ((axis, "d_model"), stream.first.sums.numpy() / stream.first.count)
    if stream.scatter is not None:
        variables["covariance"] = ((axis, "d_model", "d_model_"), covariance(stream.scatter, filled))
    if stream.leading is not None:
        products = leading_products(stream, filled, holes, frame)
        variables["leading_groups"] = ((axis, "group", "direction", "direction_"), products)
    if axis == "layer":
        folded = fold_means(stream.positions.sums, filled.mean, sizes)
        variables["position_folds"] = ((axis, "fold", "position", "d_model"), folded)
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


def captured_groups(state: State, plan: Plan, first: Pilot, *, attention: bool) -> dict[str, xr.Dataset]:
    """Everything that the pass gave, as the schema's groups; the state is given up."""
    holes = holes_of(state, plan)
    streams = {"layer": state.residual, "block": state.attention if attention else None}

    def dataset(axis: str) -> xr.Dataset | None:
        stream = streams[axis]
        with cores(1):
            return stream_dataset(stream, plan, holes, axis, first.frame) if stream is not None else None

    residual, apart = side_by_side(dataset, streams)
    assert residual is not None
    captured = {"residual": residual.assign(holes=len(holes.contexts))}
    if attention:
        captured["attention"] = same_for_attention(captured["residual"], plan) if apart is None else apart
    return {**captured, "outliers": outlier_dataset(state, first.medians), "sample": sample_dataset(state)}
