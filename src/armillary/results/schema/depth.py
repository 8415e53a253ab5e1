"""What is measured from layer to layer."""

from armillary.measures.anisotropy import anisotropy, outlier_dimensions
from armillary.measures.dimension import dimension
from armillary.measures.identity import token_share
from armillary.measures.influence import influence, position_share_less_dominant
from armillary.measures.layers import layer_similarity
from armillary.measures.massive import first_ratio, position_share_with_first
from armillary.measures.norms import norm
from armillary.results.schema.kinds import Group, Variable, axes, with_error

LAYER, PAIRS, LARGEST = axes("layer"), axes("layer layer_"), axes("layer mode")

SIMILARITY = {
    "layer_cosine": Variable(PAIRS, "1", "mean cosine of a token's states in two layers, not centred"),
    "cka_debiased": Variable(PAIRS, "1", "linear CKA of two layers, bias-corrected; may be negative"),
    "cka": Variable(PAIRS, "1", "linear CKA of two layers, plug-in"),
}

CLOUD = {
    **with_error(
        "anisotropy",
        Variable(LAYER, "1", "mean cosine of the states of two different tokens", label="anisotropy"),
        without=True,
    ),
    **with_error(
        "anisotropy_centred",
        Variable(
            LAYER,
            "1",
            "the same, mean-centred over the sample; near 0 by construction",
            label="mean-centred anisotropy",
        ),
        without=True,
    ),
    "outlier_dimension_count": Variable(LAYER, "dimensions", "coordinates with more than 5 times the average variance"),
    "outlier_dimension_share": Variable(LAYER, "1", "their common share of the variance", share=True),
    "dimension_index": Variable(LARGEST, "index", "the coordinates of largest variance, largest first"),
    "dimension_share": Variable(LARGEST, "1", "their shares of the variance", share=True),
    "dimension_twonn": Variable(
        LAYER,
        "dimensions",
        "intrinsic dimension of the sample by two nearest neighbours; depends on the number of points, so no interval",
        label="intrinsic dimension (TwoNN)",
    ),
    "dimension_twonn_by_size": Variable(
        axes("layer size"), "dimensions", "the same of disjoint parts of the sample, mean; NaN: too few points"
    ),
    "dimension_twonn_null": Variable(
        LAYER,
        "dimensions",
        "the same of Gaussian clouds of as many points and its covariance, mean over rotations",
    ),
    "dimension_twonn_null_sd": Variable(LAYER, "dimensions", "standard deviation of the null over rotations"),
}

IDENTITY = {
    **with_error(
        "token_share",
        Variable(
            LAYER,
            "1",
            "share of the residual's variance between tokens, corrected for degrees of freedom; may be negative",
            label="share of the residual explained by the token",
            share=True,
        ),
        without=True,
    ),
    "token_share_null": Variable(
        LAYER, "1", "highest share of 19 shuffles of the tokens: chance passes it once in 20", share=True
    ),
    "token_count": Variable(
        LAYER, "tokens", "different tokens that entered: those that the sample holds at least twice"
    ),
}

BY_TOKEN = {
    "token_variance_share": Variable(
        axes("layer sample"),
        "1",
        "a sampled token's share of the layer's variance; NaN: massive and left out",
        share=True,
    ),
    "dominant_share": Variable(
        LAYER, "1", "what the dominant tokens hold together", label="share of variance in dominant tokens", share=True
    ),
    "dominant": Variable(
        axes("sample"),
        "true or false",
        "whether it holds over 10 times its even share of a layer where such tokens hold over 10 %",
    ),
    "participation_ratio": Variable(LAYER, "directions", "(tr C)² / tr C² of the sample's covariance C"),
    "participation_ratio_less_dominant": Variable(LAYER, "directions", "the same without the dominant tokens"),
    "cka_debiased_less_dominant": Variable(PAIRS, "1", "bias-corrected CKA of two layers without the dominant tokens"),
    "position_share_less_dominant": Variable(
        LAYER, "1", "position/share_corrected of the variance that is not the dominant tokens'", True, share=True
    ),
}

FIRST = {
    "first_ratio": Variable(LAYER, "1", "norm of the mean at position 0, left out, over the layer's median norm", True),
    "position_share_with_first": Variable(
        LAYER,
        "1",
        "plug-in position share if position 0 counted, its states taken as their mean: an upper bound",
        True,
        share=True,
    ),
}

GROUPS: dict[str, Group] = {
    "norms": Group(
        "states.nc",
        "norms of the hidden states",
        with_error(
            "norm",
            Variable(LAYER, "units of the stream", "mean norm of the kept tokens", label="residual norm"),
            without=True,
        ),
        (norm,),
    ),
    "depth": Group(
        "states.nc",
        "the cloud of states of each layer, and the similarity of layers",
        SIMILARITY | CLOUD | IDENTITY,
        (layer_similarity, anisotropy, outlier_dimensions, dimension, token_share),
    ),
    "influence": Group(
        "states.nc",
        "the hold of single tokens on each layer's covariance, and measures with and without those that dominate",
        BY_TOKEN | FIRST,
        (influence, position_share_less_dominant, first_ratio, position_share_with_first),
        ("residual", "corpus", "sample", "outliers", "position"),
    ),
}
