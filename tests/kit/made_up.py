"""Runs made up for figures: every variable that a figure may ask for, of the right shape, with a known content."""

import numpy as np
import xarray as xr

from armillary.measures.dimension import SIZES
from armillary.results import sweeping
from armillary.results.schema.weights import GROUPS as WEIGHTS

GROUPS = 16


def run_of(layers=5, positions=24, contexts=32, d_model=16, samples=40, outliers=6, modes=8, seed=0):
    """A run with a smooth position basis, clustered documents and all results; numbers can be changed by `changed`."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, positions)
    document = np.arange(contexts) * max(4, contexts // 8) // contexts
    groups = {
        "residual": residual(rng, layers, angle, document, d_model),
        "corpus": corpus(rng, document, positions),
        "sample": sample(rng, layers, samples, positions, contexts, d_model),
        "outliers": outlier_tokens(rng, layers, outliers, positions, contexts),
        "variance": shares("layer", layers),
        "attention_variance": shares("block", layers - 1),
        "norms": over(layers, norm=10.0 * 2.0 ** np.arange(layers), norm_se=0.1),
        "position": position(rng, layers, positions, modes, angle),
        "context": context(layers),
        "depth": depth(layers, modes),
        "influence": influence(layers, samples),
        **attention(rng, layers - 1),
        **heads_and_position(rng, layers - 1, min(positions, 64)),
        **weights(rng, layers - 1),
        **stores(layers - 1),
        **sphere(rng, layers, min(positions, 40)),
        **localization(),
        **gaussian(layers),
        **training(rng, layers),
    }
    tree = xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})
    tree.attrs.update(model="m", corpus="c", groups="16 groups, whole documents", contexts=contexts)
    return tree


def changed(results, **values):
    """The run with other numbers: group__variable=array or number for every layer; None takes the variable out."""
    groups = {name: node.to_dataset().copy() for name, node in results.children.items()}
    for path, value in values.items():
        group, name = path.split("__")
        if value is None:
            groups[group] = groups[group].drop_vars(name, errors="ignore")
            continue
        old = groups[group][name]
        groups[group][name] = (old.dims, np.broadcast_to(np.asarray(value), old.shape).copy(), old.attrs)
    tree = xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})
    tree.attrs.update(results.attrs)
    return tree


def over(layers, axis="layer", **values):
    """Variables along the layers."""
    return xr.Dataset({name: (axis, np.broadcast_to(value, layers).astype(float)) for name, value in values.items()})


def residual(rng, layers, angle, document, d_model):
    spiral = np.zeros((layers, len(angle), d_model))
    spiral[..., 0], spiral[..., 1] = np.cos(angle), np.sin(angle)
    windows = rng.normal(size=(document.max() + 1, d_model))[document]
    noise = rng.normal(size=(layers, len(angle), d_model))
    return xr.Dataset(
        {
            "mean": (("layer", "d_model"), rng.normal(size=(layers, d_model))),
            "position_basis": (("layer", "position", "d_model"), spiral + 0.02 * noise),
            "position_null": (("layer", "position", "d_model"), 0.1 * noise),
            "context_basis": (
                ("layer", "context", "d_model"),
                windows + 0.3 * rng.normal(size=(layers, len(document), d_model)),
            ),
            "norm_largest": (("layer", "position"), np.full((layers, len(angle)), 40.0)),
        },
        coords={"position": np.arange(1, len(angle) + 1)},
    )


def corpus(rng, document, positions):
    names = np.array([f"document {i}" for i in range(document.max() + 1)])
    return xr.Dataset(
        {
            "tokens": (("context", "position"), rng.integers(0, 99, (len(document), positions + 1))),
            "document_index": ("context", document),
            "document_name": ("document", names),
            "group": ("context", np.arange(len(document)) % GROUPS),
            "shift": ("context", rng.integers(0, positions, len(document))),
        }
    )


def sample(rng, layers, samples, positions, contexts, d_model):
    return xr.Dataset(
        {
            "states": (("layer", "sample", "d_model"), rng.normal(size=(layers, samples, d_model))),
            "context": ("sample", rng.integers(0, contexts, samples)),
            "position": ("sample", rng.integers(1, positions + 1, samples)),
            "text": ("sample", np.array(["a"] * samples)),
            "massive": ("sample", np.arange(samples) == 0),
        }
    )


def outlier_tokens(rng, layers, outliers, positions, contexts):
    return xr.Dataset(
        {
            "context": ("outlier", rng.integers(0, contexts, outliers)),
            "position": ("outlier", rng.integers(1, positions + 1, outliers)),
            "token": ("outlier", rng.integers(0, 99, outliers)),
            "text": ("outlier", np.array([" the", ".", " the", "\\n", " of", ","] * outliers)[:outliers].astype(str)),
            "ratio": (("outlier", "layer"), 25.0 + np.arange(outliers)[:, None] + np.arange(layers)),
            "median_norm": ("layer", np.full(layers, 10.0)),
            "threshold": ((), 20.0),
        }
    )


def influence(layers, samples):
    """Two tokens that hold half of layer 1."""
    share = np.full((layers, samples), 1 / samples)
    together = np.where(np.arange(layers) == 1, 0.5, 0.04)
    curves = over(
        layers,
        dominant_share=together,
        participation_ratio=np.where(together > 0.1, 2.0, 9.0),
        participation_ratio_less_dominant=9.0,
        position_share_less_dominant=0.05,
        first_ratio=3.0,
        position_share_with_first=0.3,
    )
    pairs = {"cka_debiased_less_dominant": (("layer", "layer_"), np.full((layers, layers), 0.8))}
    tokens = {"dominant": ("sample", np.isin(np.arange(samples), [2, 5]))}
    return curves.assign({"token_variance_share": (("layer", "sample"), share)} | pairs | tokens)


def shares(axis, layers):
    values = np.tile([0.1, 0.2, 0.7], (layers, 1))
    floor = np.tile([0.01, 0.02, np.nan], (layers, 1))
    return xr.Dataset(
        {"share": ((axis, "component"), values), "share_floor": ((axis, "component"), floor)},
        coords={"component": ["position", "context", "residual"]},
    )


def position(rng, layers, positions, modes, angle):
    energy = np.tile(100.0 / 2.0 ** np.arange(modes), (layers, 1))
    energy[:, -1] = -0.1
    gram = np.cos(angle[:, None] - angle)
    curves = over(
        layers,
        share_corrected=np.linspace(0.02, 0.1, layers),
        share_corrected_se=0.004,
        share_null=0.015,
        rank_stable=2.4,
        rank_stable_null=9.0,
        rank_stable_corrected=np.linspace(2.0, 2.2, layers),
        rank_stable_corrected_se=0.1,
        relative_norm=0.35,
        relative_norm_null=0.12,
        relative_norm_corrected=np.linspace(0.3, 0.33, layers),
        relative_norm_corrected_se=0.01,
        rank_screenot=12.0,
        rank_screenot_low=11.0,
        rank_screenot_high=13.0,
        rank_screenot_null=8.0,
        rank_heldout=3.0,
        rank_heldout_low=2.0,
        rank_heldout_familywise=2.0,
        rank_heldout_high=4.0,
        energy_heldout_null=0.8,
        theorem1_residual=0.02,
    )
    low = 1 - 0.9 ** (1 + np.arange(21))
    fields = {
        "singular_value": (("layer", "mode"), np.sqrt(np.abs(energy)) + 0.1),
        "energy_heldout": (("layer", "mode"), energy),
        "gram": (("layer", "position", "position_"), np.tile(gram, (layers, 1, 1))),
        "low_frequency_share": (("layer", "frequency"), np.tile(low, (layers, 1))),
        "low_frequency_share_low": (("layer", "frequency"), np.tile(low - 0.03, (layers, 1))),
        "low_frequency_share_high": (("layer", "frequency"), np.tile(low + 0.03, (layers, 1))),
        "low_frequency_share_null": (("layer", "frequency"), np.tile(low / 3, (layers, 1))),
        "low_frequency_share_sinusoidal": ("frequency", low / 2),
        "difference_max": (("layer", "order"), np.tile([10.0, 300.0, 9e4], (layers, 1))),
        "theorem1_bound": (("layer", "order"), np.tile([0.5, 0.3, 0.4], (layers, 1))),
        "theorem1_bound_published": (("layer", "order"), np.tile([0.1, 0.01, 0.4], (layers, 1))),
    }
    return curves.assign(fields)


def context(layers):
    return over(
        layers,
        similarity_within=0.5,
        similarity_within_null=0.24,
        similarity_between=0.2,
        similarity_null=0.033,
        silhouette=0.2,
        silhouette_null=-0.1,
        purity=0.7,
        purity_null=0.1,
        incoherence_mean=0.06,
        incoherence_mean_null_rotation=0.033,
        incoherence_mean_null_covariance=0.08,
        incoherence_max=0.4,
        incoherence_max_low=0.35,
        incoherence_max_high=0.45,
        incoherence_max_null_rotation=0.2,
        incoherence_max_null_covariance=0.5,
        kernel_departure=0.3,
        kernel_bound=9.0,
    )


def depth(layers, modes):
    distance = np.abs(np.arange(layers)[:, None] - np.arange(layers))
    curves = over(
        layers,
        anisotropy=0.6,
        anisotropy_centred=0.01,
        dimension_twonn=12.0,
        dimension_twonn_null=30.0,
        dimension_twonn_null_sd=1.5,
        outlier_dimension_share=0.4,
        token_share=0.5,
        token_share_se=0.01,
        token_share_null=0.1,
    )
    return curves.assign_coords(size=list(SIZES)).assign(
        layer_cosine=(("layer", "layer_"), 0.9**distance),
        cka_debiased=(("layer", "layer_"), 0.8**distance),
        dimension_twonn_by_size=(("layer", "size"), np.tile([5.0, 7, 9, 11, 12], (layers, 1))),
        dimension_share=(("layer", "mode"), np.tile(0.3 / (1 + np.arange(modes)), (layers, 1))),
    )


def attention(rng, blocks, heads=4, bins=4, repeats=8):
    """Heads from near to far, their names, and what attention does to a window."""
    at = ("block", "head")
    rising = np.linspace(0.05, 0.9, blocks * heads).reshape(blocks, heads)
    falls = rising[..., None] ** np.arange(6)
    maps = rising[..., None, None] * np.eye(bins) + (1 - rising[..., None, None]) / bins
    values = dict.fromkeys(("entropy_relative", "mass_first", "mass_previous", "mass_self"), (at, rising))
    values |= {"distance": (at, 20 * rising), "signal_propagation": (at, rising)}
    values |= {"rank_effective": (at, 10 * rising), "rank_stable": (at, 5 * rising)}
    values |= {"distance_profile": ((*at, "span"), falls / falls.sum(-1, keepdims=True))}
    values |= {"map": ((*at, "query_bin", "key_bin"), maps)}
    values |= {"signal_propagation_profile": ((*at, "key_bin"), np.repeat(rising[..., None], bins, -1))}
    values |= {f"{name}_se": (dims, np.full(value.shape, 0.01)) for name, (dims, value) in values.items()}
    starts = 6 * np.arange(bins)
    kinds = np.array(["", "induction", "duplicate", "previous", "sink", "local", "uniform", ""])
    scores = dict.fromkeys(kinds[1:6], (at, rising)) | {f"{name}_se": (at, 0 * rising + 0.01) for name in kinds[1:6]}
    nulls = {f"{name}_null": ((), 0.02) for name in kinds[1:6]}
    parts = ["mean", "position", "residual"]
    share = np.zeros((blocks, heads, 3, 3)) + 0.05
    share[..., 2, 2] = 0.6
    shares = {
        name: ((*at, "part_query", "part_key"), value) for name, value in (("share", share), ("share_se", share / 50))
    }
    sides = {f"{name}_{side}": value for name in ("similarity", "collapse") for side, value in SIDES.items()}
    return {
        "heads": xr.Dataset(values, coords={"span": [0, 1, 2, 3, 5, 9], "query_bin": starts, "key_bin": starts}),
        "mixing": over(blocks, "block", output_norm=0.4, similarity_output_se=0.01, **sides),
        "head_groups": xr.Dataset(
            {f"{name}_groups": (("block", "group"), np.full((blocks, GROUPS), value)) for name, value in sides.items()}
            | {"windows": ("group", np.full(GROUPS, 2))}
        ),
        "taxonomy": xr.Dataset({"kind": (at, np.resize(kinds, (blocks, heads)))} | scores | nulls),
        "repeats": xr.Dataset({"induction_repeats": ((*at, "repeat"), rng.uniform(size=(blocks, heads, repeats)))}),
        "constituents": xr.Dataset(shares, {"part_query": parts, "part_key": parts}, {"groups": 7}),
    }


def heads_and_position(rng, blocks, positions, heads=4):
    """Weights along position directions, smoothness and peaks, and one head in one window, masked as a causal model."""
    at = ("block", "head")
    rising = np.linspace(0.05, 0.9, blocks * heads).reshape(blocks, heads)
    low = 1 - 0.9 ** (1 + np.arange(21))
    smooth = {
        "gram": np.tile(low, (blocks, 1)),
        "weighted": rising[..., None] * low,
        "logits": rising[..., None] * low / 2,
    }
    shares = {f"low_frequency_share_{name}": value for name, value in smooth.items()}
    shares |= {f"low_frequency_share_{name}_null": smooth[name] / 3 for name in ("gram", "weighted")}
    shares |= {"low_frequency_share_logits_se": 0 * smooth["logits"] + 0.01}
    peaks = {"argmax_share": (at, rising), "argmax_share_null": (at, 0 * rising + 0.1)}
    masked = np.where(np.tri(positions, dtype=bool), 0.0, np.nan)
    panels = {f"{one}_{other}": rng.normal(size=masked.shape) for one in SPLIT for other in SPLIT}
    panels["logits"] = sum(panels.values()) + 3
    panels["pattern"] = np.tri(positions) / (1 + np.arange(positions))[:, None]
    texts = np.resize(np.array([" the", "<b>bold</b>", "&lt;b&gt;", "$x$ $y$", "\\n"]), positions)
    return {
        "dissection": xr.Dataset(
            {"energy_position": (at, rising), "energy_position_null": (at, 0 * rising + 0.1)}, attrs={"rank": 20}
        ),
        "qk_smoothness": xr.Dataset(
            {name: ((*at[: value.ndim - 1], "frequency"), value) for name, value in shares.items()} | peaks,
            attrs={"groups": 7},
        ),
        "six_panels": xr.Dataset(
            {name: (("query", "key"), (masked + value).astype(np.float32)) for name, value in panels.items()}
            | {"text": ("query", texts), "block": ((), 1), "head": ((), 2), "context": ((), 0)}
        ),
        "head_examples": xr.Dataset(
            {
                name: (("example", "query", "key"), np.stack(3 * [masked + value]).astype(np.float32))
                for name, value in panels.items()
            }
            | {"text": ("query", texts), "kind": ("example", np.array(["induction", "previous", "duplicate"]))}
            | {"block": ("example", np.arange(3) % 2), "head": ("example", np.arange(3) % 2)}
        ),
    }


def weights(rng, blocks, heads=4):
    """Every row of the schema of weights filled with numbers around 2; heads unlike random ones, a random control."""
    sizes = {"block": blocks, "head": heads, "mode": 16, "distance": 4, "plane": 8, "place": 9, "matrix": 4}
    along = {"distance": [0, 1, 2, 4], "place": np.linspace(1, 40, 9).round().astype(int)}
    along["matrix"] = ["query", "key", "value", "output"]
    made = {}
    for group, row_of in WEIGHTS.items():
        variables = {}
        for name, row in row_of.variables.items():
            shape = tuple(sizes[axis] for axis in row.axes)
            values = rng.uniform(0.1, 0.9, shape) if name.startswith("rho") else rng.uniform(1, 3, shape)
            if name.endswith("_z"):
                values = 40 * values if not group.endswith("_twin") else values - 2
            if row.unit == "text":
                values = np.resize(np.array(["late", "middle", "early", "uniform"]), shape)
            if row.unit == "true or false":
                values = np.zeros(shape, dtype=bool)
            variables[name] = (row.axes, values / 10 if row.share else values)
        used = {axis for dims, _ in variables.values() for axis in dims} & set(along)
        made[group] = xr.Dataset(variables, coords={axis: along[axis] for axis in used})
    made["matrix_spectra"]["rows"][:], made["matrix_spectra"]["columns"][:] = 20, 16
    return made


def sphere(rng, layers, tokens, choices=3, embeddings=30):
    """Norms of a post-norm model on their sphere, and a text of hostile tokens whose states turn by 10° a layer."""
    blocks = layers - 1
    names = [f"{kind} {block}" for block in range(blocks) for kind in ("attention", "mlp")] + ["final"]
    known = np.array([not name.startswith("mlp") for name in names])
    norms = {
        "kind": np.array(["LayerNorm"] * len(names)),
        "gain_largest": np.linspace(1.5, 4, len(names)),
        "gain_smallest": np.full(len(names), 20.0),
        "gain_variation": np.full(len(names), 0.2),
        "flat_axes": np.zeros(len(names), dtype=int),
        "shift": np.full(len(names), 0.1),
        "radius": np.full(len(names), 4.0),
        "radius_before": np.where(known, 4.0, np.nan),
        "radius_before_sd": np.where(known, 1e-6, np.nan),
        "radius_after": np.where(known, 6.0, np.nan),
        "radius_after_sd": np.where(known, 0.5, np.nan),
        "along_ones": np.where(known, 0.0, np.nan),
    }
    scalars = {"argmax_agreement": ((), 0.75), "argmax_agreement_se": ((), 0.02), "row_variation": ((), 0.2)}
    return {
        "norm_geometry": xr.Dataset(
            {name: ("norm", value) for name, value in norms.items()} | scalars, coords={"norm": names}
        ),
        "travel": travel(rng, layers, tokens, choices, embeddings),
    }


def travel(rng, layers, tokens, choices, embeddings):
    hostile = np.array([" the", "<b>bold</b>", "&lt;b&gt;", "$x$ $y$", "\\n"])
    counted = np.arange(tokens) > 0
    angle = np.full((layers, tokens), 10.0)
    angle[0] = np.nan
    state, top = ("layer", "position"), ("layer", "position", "choice")
    one_by_one = np.broadcast_to(np.arange(layers)[:, None, None] + np.arange(choices), (layers, tokens, choices))
    places = {
        name: ((*state, "mode"), rng.normal(size=(layers, tokens, 3)))
        for name in ("coordinate", "coordinate_own", "umap")
    }
    clouds = {
        name: (("embedding", "mode"), rng.normal(size=(embeddings, 3))) for name in ("cloud", "cloud_own", "cloud_umap")
    }
    shares = {name: ("mode", np.array([0.2, 0.1, 0.05])) for name in ("variance_share", "path_share", "path_share_own")}
    return xr.Dataset(
        {
            "token": ("position", np.arange(tokens)),
            "text": ("position", np.resize(hostile, tokens)),
            "counted": ("position", counted),
            "angle": (state, angle),
            "angle_null": ("layer", 0.5 * angle[:, 0]),
            "length": ("position", np.full(tokens, 10.0 * (layers - 1))),
            "length_null": ((), 5.0 * (layers - 1)),
            "direct": ("position", np.full(tokens, 20.0)),
            "direct_null": ((), 5.0),
            "straightness": ("position", np.full(tokens, 20.0 / (10 * (layers - 1)))),
            "straightness_null": ((), 0.25),
            "top_token": (top, one_by_one.copy()),
            "top_text": (top, hostile[one_by_one % len(hostile)]),
            "top_probability": (top, np.broadcast_to(0.5 ** (1.0 + np.arange(choices)), one_by_one.shape).copy()),
            "settled": ("position", np.full(tokens, layers - 1)),
            "cloud_text": ("embedding", np.resize(hostile, embeddings)),
        }
        | places
        | clouds
        | shares,
        attrs={"source": "a text", "states": "every layer through the final norm", "lens": "the model's own head"},
    )


def stores(blocks, heads=4, triplets=5, modes=16, words=12):
    """Triplets that become more readable with depth, and words that become more specific."""
    at, rising = ("block", "head"), np.linspace(-1.0, 9.0, blocks * heads).reshape(blocks, heads)
    sides, products = (*at, "side"), (*at, "store")
    per_side = np.repeat(rising[..., None], 4, -1)
    reading = np.repeat(per_side[..., None], triplets, -1)
    covered = np.tile(np.arange(1, modes + 1) / modes, (blocks, heads, 2, 1))
    texts = np.resize(np.array([" the", "<b>bold</b>", "&lt;b&gt;", "$x$ $y$", "\\n"]), (*reading.shape, 2, 5))
    return {
        "stores": xr.Dataset(
            {
                "coverage": ((*products, "mode"), covered),
                "triplets_90": (products, np.full((blocks, heads, 2), 15.0)),
                "plane": ((*products, "triplet"), np.ones((blocks, heads, 2, triplets), dtype=int)),
                "peak": ((*sides, "triplet"), 5 + 0.3 * reading),
                "peak_null": ((*sides, "triplet"), 0 * reading + 6.0),
                "peak_z": ((*sides, "triplet"), reading),
                "peak_point_z": ("side", np.full(4, 3.0)),
                "peak_subspace_z": (sides, 0 * per_side),
                "score": ((*sides, "triplet", "end", "rank"), np.full((*reading.shape, 2, 5), 0.3)),
                "text": ((*sides, "triplet", "end", "rank"), texts),
            }
        ),
        "store_words": xr.Dataset(
            {f"specificity_{what}_z": (at, rising) for what in ("keys", "values")},
            coords={"word": [f"word{i}" for i in range(words)]},
        ),
    }


def training(rng, layers, heads=2, keys=6, steps=5):
    """A model that learns to add: losses fall, W_QK grows, trained lengths are right."""
    along = np.arange(steps)
    per_head, per_layer = (steps, layers - 1, heads), (steps, layers)
    learnt = np.stack([0 * along + 0.02, along / (steps - 1), along / (steps - 1)], axis=1)
    curves = {
        "loss": ("step", 3.0 / (1 + along)),
        "loss_validation": ("step", 3.1 / (1 + along)),
        "loss_validation_se": ("step", 0.02 + 0.0 * along),
        "bigram_entropy": ((), 2.4),
        "accuracy": (("step", "digits"), learnt),
        "accuracy_low": (("step", "digits"), np.maximum(learnt - 0.05, 0)),
        "accuracy_high": (("step", "digits"), np.minimum(learnt + 0.05, 1)),
        "problems": ("digits", np.array([100, 500, 500])),
        "trained": ("digits", np.array([False, True, True])),
        "learning_rate": ("step", 1e-3 + 0.0 * along),
        "gradient_norm": ("step", 1.0 + 0.0 * along),
    }
    of_head = {"frobenius_qk": 1.0, "entropy": 2.0, "signal_propagation": 0.5, "entropy_relative": 0.7, "xi": 0.2}
    of_head |= {"eta": 1.0, "trace_qk": 0.3, "eigenvalue_mean_qk": 0.01, "eigenvalue_variance_qk": 0.1}
    of_head |= {"gradient_qk": 1.0, "gradient_first": 0.9, "gradient_second": 0.2, "gradient_third": 0.1}
    of_layer = {"low_frequency_share": 0.6, "norm": 3.0, "similarity": 0.2, "collapse": 0.8, "rank_stable": 2.0}
    grown = 1 + 0.1 * along
    found = {
        name: (("step", "block", "head"), value * np.broadcast_to(grown[:, None, None], per_head).copy())
        for name, value in of_head.items()
    }
    found |= {
        name: (("step", "layer"), value * np.broadcast_to(grown[:, None], per_layer).copy())
        for name, value in of_layer.items()
    }
    found["rho"] = (("step", "block", "head", "key"), rng.random((*per_head, keys)))
    coordinates = {"step": 100 * along}
    return {
        "training_sweep": swept(),
        "training": xr.Dataset(curves, coords={**coordinates, "digits": [1, 2, 3]}, attrs={"groups": 16}),
        "training_heads": xr.Dataset({name: found[name] for name in (*of_head, "rho")}, coords=coordinates),
        "training_layers": xr.Dataset({name: found[name] for name in of_layer}, coords=coordinates),
    }


def swept():
    """Two strengths of each kind, three seeds: the scale shrinks, the rest stays."""
    cells = {
        (scale, trace, seed): {
            "scale_qk": 1.0 - 0.3 * trace + 0.01 * seed,
            "trace_qk": 0.1,
            "entropy": 2.0 + 0.1 * seed,
            "signal_propagation": 0.5,
            "perplexity": 30.0 + seed,
        }
        for scale in (0.0, 100.0)
        for trace in (0.0, 1.0)
        for seed in range(3)
    }
    return sweeping.swept(cells, (0.0, 100.0), (0.0, 1.0), 3)


def localization(tokens=8):
    """Three simulated settings: late, middle by clipping, uniform; and curves of the theory."""
    early, middle = np.linspace(0, 1, tokens), 1 - np.abs(np.linspace(-1, 1, tokens))
    rho = np.stack([early, middle, np.full(tokens, 0.5)])
    attention = np.stack([early**4 / (early**4).sum(), 0.9 * (early == 1) + 0.1 / tokens, np.full(tokens, 1 / tokens)])
    curves = {"rho": rho, "probability": attention, "slope": attention * (1 - attention)}
    curves |= {f"{name}_se": np.full(rho.shape, 0.01) for name in curves}
    curves |= {"rho_exact": rho + 0.01, "rho_gaussian": rho + 0.02, "rho_published": rho + 0.3}
    scalars = {"published_error": [0.2, 0.3, 0.4], "exact_deviation": [1.0, 2.0, 1.5], "entropy": [1.2, 0.2, 2.0]}
    scalars |= {"entropy_se": [0.01] * 3, "clipped": [False, True, False], "regime": ["late", "middle", "uniform"]}
    simulated = {name: (("setting", "position"), values) for name, values in curves.items()}
    simulated |= {name: ("setting", np.array(values)) for name, values in scalars.items()}
    names = ["iso 0.1, 0.02", "iso 0.5, 0.1", "aniso 0, 0.1"]
    position = np.arange(1, tokens + 1)
    return {
        "localization_simulation": xr.Dataset(
            simulated, {"setting": names, "position": position}, {"simulated": 3000, "walks": 300, "draws": 10}
        ),
        "localization_theory": theory_curves(position),
    }


def theory_curves(position):
    """The published ρ is 0.3 above the corrected one, the published bound 2 nats above the largest entropy."""
    score, deviation, nu = np.linspace(-4, 4, 9), np.array([0.1, 1.0, 10.0]), np.linspace(0, 10, 6)
    plane, growing = np.zeros((2, 3, len(position))), np.zeros((2, 2, len(position)))
    growing[0, :, len(position) // 2 :], growing[1, :, len(position) // 2 : -2] = 1, 1
    variables = {
        "softmax": ("score", 1 / (1 + np.exp(-score))),
        "piecewise": ("score", np.clip(0.5 + score / 4, 0, 1)),
        "piecewise_distance": (("keys", "deviation"), np.outer([0.5, 1.0], [0.002, 0.2, 2.0])),
        "piecewise_distance_se": (("keys", "deviation"), np.full((2, 3), 0.0005)),
        "piecewise_distance_small": ("deviation", 0.242 * deviation**2),
        **dict.fromkeys(("rho", "rho_many"), (("eta", "xi", "position"), plane + 0.5)),
        "rho_published": (("eta", "xi", "position"), plane + 0.8),
        **dict.fromkeys(("rho_narrowing", "rho_narrowing_published"), (("product", "xi_growing", "position"), growing)),
        "bound_published": ("nu", np.array([2.1, 3.0, 4.1, 2.0, 1.0, 0.5])),
        "bound_corrected": ("nu", 2 * np.exp(-nu)),
        "entropy_largest": ((), 2.1),
    }
    along = {"score": score, "keys": [2, 40], "deviation": deviation, "xi": [-1.0, 0.0, 1.0], "eta": [0.5, 1.0]}
    along |= {"product": [1.28, 5.12], "xi_growing": [8.0, 32.0], "nu": nu, "position": position}
    return xr.Dataset(variables, along, {"simulated": 500})


SPLIT = ("position", "residual")
SIDES = {"residual": 0.3, "output": 0.5}


def gaussian(layers, heads=4):
    """Information that halves with distance; heads of the last block vary more than predicted; fixed weights fail."""
    blocks, distances = layers - 1, np.array([1, 2, 4])
    information = np.outer(np.linspace(2, 1, layers), [1.0, 0.5, 0.25])
    per_logit, per_head = np.ones((blocks, heads, 3)), np.ones((blocks, heads))
    ratio = np.zeros((blocks, heads, 3))
    ratio[-1, :3] = 1.0
    logits = {"mean": 0.1, "mean_predicted": 0.1, "variance": 2 * np.exp(ratio), "variance_predicted": 2.0}
    logits |= {"variance_independent": 1.5, "log_ratio": ratio, "log_ratio_se": 0.05, "log_ratio_detectable": 0.15}
    logits |= {"skewness": 0.2, "excess_kurtosis": 1.0, "excess_kurtosis_low": 0.8, "excess_predicted": 0.3}
    mixed = {"entropy": 5.0, "entropy_fixed": 2.0, "entropy_gap": -3.0, "entropy_gap_se": 0.1}
    mixed |= {"information": 1.0, "information_fixed": 9.0, "information_gap": 8.0}
    likely = {"own_token": 0.8, "previous_token": np.linspace(0.2, 0.1, layers), "previous_predicted": 0.1}
    likely |= {"previous_state": 0.15, "directions": np.linspace(3, 2, layers), "directions_orthogonal": 4.0}
    likely |= {"cosine": 0.3} | {f"{name}_se": 0.01 for name in (*likely, "cosine") if name != "directions_orthogonal"}
    likely |= {"directions_published": 1.5}
    variants = np.linspace([0.1, 0.2, 0.1, 0.1], [0.5, 0.9, 0.6, 0.4], layers).T
    stacks = np.array([[0.0, 0.9, 0.995, 1.0], [0.0, 0.1, 0.2, 0.4]])
    at, attrs = ("layer", "distance"), {"groups": 16.0, "model": "m", "windows": 64, "directions": 8}
    return {
        "gaussian": xr.Dataset(
            {
                "information": (at, information),
                "information_se": (at, np.full(information.shape, 0.1)),
                "information_plug_in": (at, information + 0.1),
                "information_null": (at, 0 * information),
                "information_null_high": (at, np.full(information.shape, 0.02)),
                "direction_share": ("layer", np.full(layers, 0.3)),
            },
            {"distance": distances},
            attrs,
        ),
        "gaussian_tokens": over(layers, **likely)
        .assign(eigenvalue=(("layer", "mode"), np.full((layers, 4), 0.25)), probability=("token", np.full(4, 0.1)))
        .assign_attrs(attrs),
        "gaussian_logits": xr.Dataset(
            {name: (("block", "head", "distance"), value * per_logit) for name, value in logits.items()}
            | {
                name: ("distance", np.full(3, value)) for name, value in (("correlation", 0.9), ("factor_median", 1.25))
            },
            {"distance": [0, 1, 8]},
            attrs,
        ),
        "gaussian_kept": xr.Dataset(
            {
                "kept": (("block", "head", "projection"), np.full((blocks, heads, 4), 0.5)),
                "kept_random": ("block", np.full(blocks, 0.4)),
            },
            {"projection": ["query", "key", "value", "query–key"]},
            attrs,
        ),
        "gaussian_mixing": xr.Dataset(
            {name: (("block", "head"), value * per_head) for name, value in mixed.items()}, attrs=attrs
        ),
        "gaussian_depth": xr.Dataset(
            {
                "similarity": (("variant", "layer"), variants),
                "similarity_se": (("variant", "layer"), np.full(variants.shape, 0.01)),
            },
            {"variant": ["model", "random weights", "α = 0.5", "α = 2"]},
            attrs,
        ),
        "gaussian_stacks": xr.Dataset(
            {
                "similarity": (("stack", "depth"), stacks),
                "similarity_se": (("stack", "depth"), np.full(stacks.shape, 0.01)),
            },
            {"stack": ["β = 1", "β = 0.5"]},
            attrs | {"simulated": 10},
        ),
    }
