"""Runs of random or given numbers, to be compared two by two, and a comparison as it is printed."""

import io

import numpy as np
import xarray as xr
from rich.console import Console

from armillary.printing.comparison import printed
from armillary.results.store import Run, tree_of


def frame(rng, k, size):
    return np.linalg.qr(rng.standard_normal((size, k)))[0]


def centred(matrix):
    return matrix - matrix.mean(axis=-2, keepdims=True)


def run_of(
    seed=0,
    *,
    layers=3,
    d_model=24,
    positions=10,
    groups=8,
    basis=None,
    folds=None,
    results=None,
    documents=None,
    **about,
):
    """A run with random numbers, or given ones: what `compare` reads, and nothing else."""
    rng = np.random.default_rng(seed)
    contexts = 2 * groups
    basis = centred(rng.standard_normal((layers, positions, d_model))) if basis is None else basis
    layers, positions, d_model = basis.shape
    folds = np.repeat(basis[:, None], groups, axis=1) if folds is None else folds
    residual = {"position_basis": (("layer", "position", "d_model"), basis),
                "position_folds": (("layer", "fold", "position", "d_model"), folds)}  # fmt: skip
    corpus = {
        "tokens": (("context", "position"), rng.integers(0, 50, (contexts, positions + 1))),
        "group": ("context", np.arange(contexts) % groups),
        "document_index": ("context", np.arange(contexts) % groups if documents is None else documents),
        "document_name": ("document", [f"{about.get('corpus', 'text')}-{i}" for i in range(groups)]),
    }
    value = rng.random(layers) + 1
    position = {"rank_stable": ("layer", value), "rank_stable_null": ("layer", 3 * value)}
    position |= {"relative_norm": ("layer", value / 4), "relative_norm_null": ("layer", value / 9)}
    for name in ("share_corrected", "rank_stable_corrected", "relative_norm_corrected"):
        position |= {name: ("layer", rng.random(layers)), f"{name}_se": ("layer", 0.1 + rng.random(layers))}
    share = rng.dirichlet(np.ones(3), layers)
    variance = {"share": (("layer", "component"), share), "share_floor": (("layer", "component"), share / 7)}
    tree = {
        "residual": xr.Dataset(residual, coords={"position": np.arange(1, positions + 1)}),
        "corpus": xr.Dataset(corpus),
        "variance": xr.Dataset(variance, coords={"component": ["position", "context", "residual"]}),
        "position": xr.Dataset(position | (results or {})),
    }
    known = {"model": "m", "model_sha256": "a" * 64, "corpus": "text", "corpus_sha256": "b" * 64, "contexts": contexts,
             "length": positions + 1, "seed": seed, "outliers": "drop", "random_weights": ""}  # fmt: skip
    return Run(tree_of(tree, known | about))


def shown(comparison, width=200):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(printed(comparison))
    return out.getvalue()


def without(run, *names, **changed):
    """The run without some groups, or with other variables in some."""
    groups = {name: node.to_dataset() for name, node in run.results.children.items() if name not in names}
    groups |= {name: groups[name].assign(variables) for name, variables in changed.items()}
    return Run(tree_of(groups, run.provenance))
