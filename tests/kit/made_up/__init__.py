"""Runs made up for figures: every variable that a figure may ask for, of the right shape, with a known content."""

import numpy as np
import xarray as xr

from made_up.heads import attention, heads_and_position
from made_up.learning import training
from made_up.lens import gaussian
from made_up.parameters import sphere, stores, weights
from made_up.shapes import GROUPS, over
from made_up.states import context, corpus, depth, influence, outlier_tokens, position, residual, sample, shares
from made_up.theory import localization

__all__ = ["GROUPS", "changed", "named_documents", "run_of", "training"]


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


def named_documents(results, name):
    """The run with documents called name(0), name(1) and so on."""
    dataset = results["corpus"].to_dataset()
    names = np.array([name(place) for place in range(dataset.sizes["document"])])
    results["corpus"] = xr.DataTree(dataset.assign(document_name=("document", names)))
    return results
