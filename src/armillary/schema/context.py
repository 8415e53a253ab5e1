"""What is measured of contexts: likeness within and between documents, and towards positions."""

from armillary.measures.context import context_clusters
from armillary.measures.incoherence import incoherence, incoherence_null
from armillary.measures.kernels import kernel_departure
from armillary.schema.kinds import Group, Variable, axes

LAYER = axes("layer")

SIMILARITY = {
    "similarity_within": Variable(LAYER, "1", "mean absolute cosine of context vectors of one document; NaN: no pair"),
    "similarity_within_se": Variable(LAYER, "1", "its standard error over documents"),
    "similarity_between": Variable(LAYER, "1", "mean absolute cosine of context vectors of different documents"),
    "similarity_between_se": Variable(LAYER, "1", "its standard error over documents"),
    "similarity_within_published": Variable(
        LAYER, "1", "within, every context vector counted with itself, as published"
    ),
    "similarity_null": Variable(
        LAYER, "1", "mean absolute cosine of independent Gaussian vectors with the context vectors' (shrunk) covariance"
    ),
}

CLUSTERS = {
    "silhouette": Variable(LAYER, "1", "mean silhouette of context vectors by document, cosine distance; −1 to 1"),
    "silhouette_se": Variable(LAYER, "1", "its standard error over documents"),
    "silhouette_null": Variable(LAYER, "1", "its mean over shuffled documents"),
    "purity": Variable(LAYER, "1", "share of context vectors whose nearest neighbour is of the same document"),
    "purity_se": Variable(LAYER, "1", "its standard error over documents"),
    "purity_null": Variable(LAYER, "1", "its mean over shuffled documents"),
}

INCOHERENCE = {
    "incoherence_mean": Variable(LAYER, "1", "mean absolute cosine of a position vector and a context vector"),
    "incoherence_mean_se": Variable(LAYER, "1", "its standard error over documents, the position basis fixed"),
    "incoherence_max": Variable(LAYER, "1", "largest absolute cosine of a position vector and a context vector"),
    "incoherence_max_low": Variable(LAYER, "1", "its lowest value when one group of documents is left out"),
    "incoherence_max_high": Variable(LAYER, "1", "its highest value when one group of documents is left out"),
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
        LAYER, "nats", "largest |log ratio| by which random sparse kernels fail to factorise (Theorem 2)"
    ),
    "kernel_bound": Variable(LAYER, "nats", "the bound 4s(2ι + ι²) on it, s = 1, ι = incoherence_max"),
}

GROUPS: dict[str, Group] = {
    "context": Group(
        "states.nc",
        "the context basis: likeness by document, clusters, and near-orthogonality to the position basis",
        SIMILARITY | CLUSTERS | INCOHERENCE | KERNEL,
        (context_clusters, incoherence, incoherence_null, kernel_departure),
    ),
}
