"""What is measured of contexts: similarity within and between documents, and towards positions."""

from armillary.measures.context import context_clusters
from armillary.measures.incoherence import incoherence, incoherence_null
from armillary.measures.kernels import kernel_departure
from armillary.results.schema.kinds import Group, Variable, axes, with_error, with_range

LAYER = axes("layer")

SIMILARITY = {
    "similarity_within": Variable(
        LAYER,
        "1",
        "mean absolute cosine of context vectors of one document; NaN: no pair; no interval: none covers",
        label="similarity within documents",
    ),
    "similarity_within_null": Variable(
        LAYER, "1", "its highest value of 19 shuffles of the documents: chance passes it once in 20", optional=True
    ),
    "similarity_between": Variable(
        LAYER,
        "1",
        "mean absolute cosine of context vectors of different documents; no interval: none covers",
        label="similarity between documents",
    ),
    "similarity_within_published": Variable(
        LAYER, "1", "within, every context vector counted with itself, as published"
    ),
    "similarity_null": Variable(
        LAYER, "1", "mean absolute cosine of independent Gaussian vectors with the context vectors' (shrunk) covariance"
    ),
}

CLUSTERS = {
    **with_error(
        "silhouette",
        Variable(
            LAYER,
            "1",
            "mean silhouette of context vectors by document, cosine distance; −1 to 1",
            label="silhouette by document",
        ),
        without=True,
    ),
    "silhouette_null": Variable(LAYER, "1", "its mean over shuffled documents"),
    **with_error(
        "purity",
        Variable(
            LAYER,
            "1",
            "share of context vectors whose nearest neighbour is of the same document",
            label="nearest-neighbour purity",
            share=True,
        ),
        without=True,
    ),
    "purity_null": Variable(LAYER, "1", "its mean over shuffled documents", share=True),
}

INCOHERENCE = {
    "incoherence_mean": Variable(
        LAYER,
        "1",
        "mean absolute cosine of a position and a context vector; falls as windows are added, so no interval",
        label="mean |cosine| of position and context",
    ),
    **with_range(
        "incoherence_max",
        Variable(
            LAYER,
            "1",
            "largest absolute cosine of a position vector and a context vector",
            label="largest |cosine| of position and context",
        ),
    ),
    "incoherence_mean_null_rotation": Variable(LAYER, "1", "the mean after a random rotation of one basis, exact"),
    "incoherence_max_null_rotation": Variable(LAYER, "1", "the maximum after a random rotation of one basis"),
    "incoherence_mean_null_covariance": Variable(
        LAYER, "1", "the mean of independent Gaussian vectors with the states' covariance"
    ),
    "incoherence_max_null_covariance": Variable(
        LAYER, "1", "the maximum of independent Gaussian vectors with the states' covariance"
    ),
}

KERNEL = {
    "kernel_departure": Variable(
        LAYER,
        "nats",
        "largest |log ratio| by which random sparse kernels fail to factorise (Theorem 2)",
        label="departure from factorisation",
    ),
    "kernel_bound": Variable(LAYER, "nats", "the bound 4s(2ι + ι²) on it, s = 1, ι = incoherence_max"),
}

GROUPS: dict[str, Group] = {
    "context": Group(
        "states.nc",
        "the context basis: similarity by document, clusters, and near-orthogonality to the positional basis",
        SIMILARITY | CLUSTERS | INCOHERENCE | KERNEL,
        (context_clusters, incoherence, incoherence_null, kernel_departure),
        splits=True,
    ),
}
