"""What the weights of a run say: spectra, stores of keys and values, words on the sphere."""

import numpy as np
import xarray as xr

from armillary.results.schema.weights import GROUPS as WEIGHTS


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
