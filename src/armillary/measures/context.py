"""Context vectors among themselves: similarity by document and clusters, all from one table of cosines."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from armillary.measures.clusters import purity, silhouette
from armillary.measures.similarity import cosine_table, similarity, similarity_null


class ContextClusters(NamedTuple):
    """Similarities, silhouette and purity of context vectors by document, with errors and nulls."""

    similarity_within: float
    similarity_within_null: float
    similarity_within_published: float
    similarity_between: float
    similarity_null: float
    silhouette: float
    silhouette_se: float
    silhouette_without: Float[np.ndarray, "group"]
    silhouette_null: float
    purity: float
    purity_se: float
    purity_without: Float[np.ndarray, "group"]
    purity_null: float


def context_clusters(
    context_basis: Float[np.ndarray, "context d_model"],
    document_index: Int[np.ndarray, "context"],
    group: Int[np.ndarray, "context"],
) -> ContextClusters:
    """Whether the windows of one document have like context vectors; see `similarity`, `silhouette`, `purity`.

    The table of cosines is made once. Errors leave out groups of documents and keep the other context vectors as they
    are: they are not centred again.
    """
    cosines = cosine_table(context_basis)
    return ContextClusters(
        *similarity(cosines, document_index),
        similarity_null(context_basis, group),
        *silhouette(cosines, document_index, group),
        *purity(cosines, document_index, group),
    )
