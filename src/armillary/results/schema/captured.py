"""What a pass keeps: the sums that every measure starts from."""

from armillary.results.schema.kinds import Group, Variable, axes


def stream(axis: str) -> dict[str, Variable]:
    """What is kept at every site of one kind."""
    state, per_token = "units of the stream", "units of the stream, squared"
    return {
        "mean": Variable(axes(f"{axis} d_model"), state, "mean over contexts and kept positions (equation 3)"),
        "position_basis": Variable(axes(f"{axis} position d_model"), state, "mean at each position less the mean"),
        "context_basis": Variable(axes(f"{axis} context d_model"), state, "mean of each context less the mean"),
        "first": Variable(axes(f"{axis} d_model"), state, "mean at position 0, where that position is dropped", True),
        "position_kernel": Variable(
            axes(f"{axis} group group_"),
            per_token,
            "inner products of the groups' sums at each position, centred over positions: all that errors of the "
            "position share need",
        ),
        "position_null": Variable(
            axes(f"{axis} position d_model"),
            state,
            "position_basis after every window was circularly shifted by its own offset",
        ),
        "squares": Variable(axes(f"{axis} group"), per_token, "sum of a group's squared distances from the mean"),
        "norm_groups": Variable(axes(f"{axis} group position"), state, "mean norm of the kept tokens of a group"),
        "norm_largest": Variable(axes(f"{axis} position"), state, "largest norm of any token, also those left out"),
        "covariance": Variable(
            axes(f"{axis} d_model d_model_"), per_token, "covariance of all kept tokens about the mean", True
        ),
    }


GROUPS: dict[str, Group] = {
    "residual": Group(
        "states.nc",
        "the hidden states: state l is what block l receives, state n what the last block gives, before a final norm",
        stream("layer")
        | {
            "position_folds": Variable(
                axes("layer fold position d_model"),
                "units of the stream",
                "mean at each position in one fold of the documents (groups f, f + 8, ...), less the mean",
            ),
            "leading_groups": Variable(
                axes("layer group direction direction_"),
                "units of the stream, squared",
                "products of a group's states less the mean along the leading directions of the first windows, summed",
                True,
            ),
            "holes": Variable((), "tokens", "cells left out by the outlier rule and filled with the additive fit"),
        },
    ),
    "attention": Group(
        "states.nc",
        "what each block's attention receives, after its norm",
        stream("block"),
    ),
    "corpus": Group(
        "states.nc",
        "the windows that were read, in the order of the axis context",
        {
            "tokens": Variable(axes("context position"), "token id", "the tokens of each window, position 0 included"),
            "document_index": Variable(axes("context"), "index", "which document the window comes from"),
            "document_name": Variable(axes("document"), "text", "names of the documents, escaped"),
            "offset": Variable(axes("context"), "tokens", "where in its document the window begins"),
            "group": Variable(axes("context"), "index", "the window's group of documents, the unit of the jackknife"),
            "shift": Variable(axes("context"), "positions", "by how much the null shifted the window, circularly"),
        },
    ),
    "outliers": Group(
        "states.nc",
        "tokens of massive norm: above the threshold in any layer",
        {
            "context": Variable(axes("outlier"), "index", "the token's window"),
            "position": Variable(axes("outlier"), "index", "the token's position in the window"),
            "token": Variable(axes("outlier"), "token id", "the token"),
            "text": Variable(axes("outlier"), "text", "the token's text, escaped"),
            "ratio": Variable(axes("outlier layer"), "1", "norm over the layer's median norm"),
            "median_norm": Variable(axes("layer"), "units of the stream", "median norm over the pilot's windows"),
            "threshold": Variable((), "1", "ratio above which a token is massive in a layer", True),
        },
    ),
    "sample": Group(
        "states.nc",
        "single tokens drawn at random, with their states in all layers",
        {
            "states": Variable(axes("layer sample d_model"), "units of the stream", "the states, not centred"),
            "context": Variable(axes("sample"), "index", "the token's window"),
            "position": Variable(axes("sample"), "index", "the token's position in the window"),
            "token": Variable(axes("sample"), "token id", "the token"),
            "text": Variable(axes("sample"), "text", "the token's text, escaped"),
            "massive": Variable(axes("sample"), "true or false", "whether the outlier rule names it"),
        },
    ),
}
