"""What `armillary stores` reads off the weights: singular triplets as tokens, what they cover, and words as queries."""

from armillary.results.schema.kinds import Group, Variable, axes

FILE = "stores.nc"
COMMAND = "armillary stores MODEL --run RUN"
PRODUCT_NAMES = ("W_QK", "W_VO")
SIDE_NAMES = ("query", "key", "input", "output")
"""Left and right of W_QK, left and right of W_VO."""

PER_PRODUCT, PER_SIDE = axes("block head store"), axes("block head side")
READING = (*PER_SIDE, "triplet")
RANKED = (*READING, "end", "rank")
PER_WORD = axes("block head word rank")
TEXT_NEEDED = "needs a run of `armillary survey --covariance attention`"


def fit_rows(name: str, fit: str, label: str, optional: bool = False) -> dict[str, Variable]:
    """How well what a head finds for a word fits it, for permuted words, and the z-score."""
    per_head = axes("block head")
    return {
        name: Variable(per_head, "1", f"{fit}, mean over words", optional, label),
        f"{name}_null": Variable(per_head, "1", "the same for permuted words", optional),
        f"{name}_z": Variable(
            per_head,
            "standard deviations",
            "against permuted words, in units of random heads with the same singular values; NaN below ten words",
            optional,
            f"{label}, z",
        ),
    }


TRIPLETS = {
    "singular_value": Variable((*PER_PRODUCT, "triplet"), "1", "singular values of the triplets read", label="σ"),
    "coverage": Variable(
        (*PER_PRODUCT, "mode"),
        "1",
        "share of the squared Frobenius norm that the first triplets hold",
        label="energy of the weights covered",
        share=True,
    ),
    "triplets_90": Variable(PER_PRODUCT, "1", "triplets that hold 90 % of it", label="triplets for 90 %"),
    "triplets_99": Variable(PER_PRODUCT, "1", "triplets that hold 99 % of it", label="triplets for 99 %"),
    "plane": Variable(
        (*PER_PRODUCT, "triplet"),
        "dimensions",
        "dimensions that near-equal singular values leave undetermined: 1 a direction, more a plane, 0 no triplet",
    ),
}


def clarity_rows(name: str, unit: str, text: str, label: str) -> dict[str, Variable]:
    """One measure of how clear a reading is, and that of random directions."""
    z = "standard deviations"
    return {
        name: Variable(READING, unit, text, label=label),
        f"{name}_null": Variable(READING, unit, "its 99 % point over random directions, or planes where it is one"),
        f"{name}_z": Variable(READING, z, "the same against random directions or planes", label=f"{label}, z"),
        f"{name}_point_z": Variable(("side",), z, "99 % point of random directions as a z-score"),
        f"{name}_subspace_z": Variable(
            PER_SIDE,
            z,
            "mean z-score of random directions within the head's own subspace",
            label=f"{label} within the subspace, z",
        ),
    }


TOKENS = {
    "token": Variable(RANKED, "token id", "tokens nearest to a singular vector, or to a plane; −1: none"),
    "text": Variable(RANKED, "text", "their texts, escaped"),
    "score": Variable(RANKED, "cosine", "cosine with the singular vector; length of the projection onto a plane"),
    **clarity_rows(
        "peak", "standard deviations", "top token's distance from the mean of the vocabulary's scores", "peak"
    ),
    **clarity_rows("coherence", "cosine", "mean cosine between the top tokens, of the more coherent end", "coherence"),
}

ON_TEXT = {
    "coverage_text": Variable(
        axes("block head mode"),
        "1",
        f"share of the mean square of x W_VO on text that the first triplets write; {TEXT_NEEDED}",
        True,
        "energy on text covered",
        share=True,
    ),
    "null_share": Variable(
        PER_SIDE,
        "1",
        f"share of the energy of attention inputs that W_QK or W_VO as stored takes to zero; {TEXT_NEEDED}",
        True,
        "energy in the null space",
        share=True,
    ),
    "null_share_null": Variable(PER_SIDE, "1", "the share of a random subspace: 1 − rank / d_model", True, share=True),
    "null_share_z": Variable(PER_SIDE, "standard deviations", "the share against random subspaces of that rank", True),
    "null_share_centred": Variable(
        PER_SIDE, "1", "the share of mean-centred inputs", True, "energy in the null space, mean-centred", share=True
    ),
}

WORDS = {
    "word_tokens": Variable(("word",), "tokens", "tokens of the word, whose unit vectors are averaged"),
    "neighbour": Variable(axes("word rank"), "index", "words of largest cosine with the word's embedding"),
    "neighbour_score": Variable(axes("word rank"), "cosine", "their cosines"),
    "key_word": Variable(PER_WORD, "index", "words of the list that score highest as keys by x W_QK yᵀ"),
    "key_score": Variable(PER_WORD, "1", "their scores, words scaled to norm √d_model, at distance 0"),
    "value_word": Variable(PER_WORD, "index", "words of the list nearest to x W_VO"),
    "value_token": Variable(PER_WORD, "token id", "tokens of the vocabulary nearest to x W_VO", True),
    "value_text": Variable(PER_WORD, "text", "their texts, escaped", True),
    "value_score": Variable(PER_WORD, "cosine", "their cosines", True),
    "update_token": Variable(axes("block word rank"), "token id", "tokens nearest to x W_VO, summed over heads", True),
    "update_text": Variable(axes("block word rank"), "text", "their texts, escaped", True),
    "update_score": Variable(axes("block word rank"), "cosine", "their cosines", True),
    "self_share": Variable(
        axes("block head"), "1", "share of words that are their own top key", label="own key on top", share=True
    ),
    **fit_rows("specificity_keys", "cosine of a word with its top keys", "specificity of keys"),
    **fit_rows("specificity_values", "cosine of a word with the words nearest to x W_VO", "specificity of values"),
    **fit_rows("subject_keys", "share of a word's top keys of its subject, built-in words", "same subject", True),
    **fit_rows("subject_values", "share of the words nearest to x W_VO of its subject", "same subject", True),
}

GROUPS: dict[str, Group] = {
    "stores": Group(
        FILE,
        "singular triplets of every head's W_QK = scale · W_Q W_Kᵀ and W_VO = W_V W_O, read as tokens",
        TRIPLETS | TOKENS | ON_TEXT,
        command=COMMAND,
    ),
    "store_words": Group(
        FILE, "words as queries and inputs of every head, by their embeddings alone", WORDS, command=COMMAND
    ),
}
