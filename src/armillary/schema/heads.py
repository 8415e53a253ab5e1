"""What is measured of attention heads."""

from armillary.measures.heads import distance_profile, head_means, map_ranks, mean_map, mixing, signal_profile
from armillary.measures.taxonomy import taxonomy
from armillary.schema.kinds import Group, Variable, axes

FILE = "heads.nc"
NAMES_FILE = "names.nc"

SCALARS = {
    "entropy": ("nats", "entropy of a query's attention, mean over queries from 1 on"),
    "entropy_relative": (
        "1",
        "entropy over log t, t the number of keys a query may see; queries that see one left out",
    ),
    "mass_first": ("1", "attention on position 0, where many heads park it"),
    "mass_self": ("1", "attention of a token on itself"),
    "mass_previous": ("1", "attention on the token before"),
    "distance": ("tokens", "mean distance between query and key, weighted by attention"),
    "signal_propagation": (
        "1",
        "share of windows and keys i with 0 ≤ 1/T + (ω_i − mean ω)/T ≤ 1, ω the last query's scores on its T keys",
    ),
    "rank_effective": ("1", "exp of the spectral entropy of a map's first 128 rows, mean over sampled windows"),
    "rank_stable": ("1", "Σσ² / σ₁² of a map's first 128 rows, mean over sampled windows"),
}
"""One number per head: unit and meaning."""

SHAPED = {
    "distance_profile": ("span", "1", "attention by distance between query and key; adds up to 1"),
    "map": ("query_bin key_bin", "1", "attention of the queries of a bin on the keys of a bin; rows add up to 1"),
    "signal_propagation_profile": ("key_bin", "1", "signal propagation of a bin's keys; NaN: the last query sees none"),
}
"""More than one number per head: axes, unit and meaning."""

MIXING = {
    "similarity_residual": ("1", "mean cosine of different tokens of a window, states that the block receives"),
    "similarity_output": ("1", "mean cosine of different tokens of a window, output of the attention before any norm"),
    "collapse_residual": ("1", "‖X − 1x̄ᵀ‖ / ‖X‖ of a window's states; 0: all tokens are one vector"),
    "collapse_output": ("1", "‖X − 1x̄ᵀ‖ / ‖X‖ of the attention's output in a window"),
    "output_norm": ("1", "norm of the attention's output over that of the state, mean over tokens"),
}
"""One number per block: unit and meaning."""


SCORES = {
    "induction": "repeated random tokens: attention on the token after the first occurrence",
    "duplicate": "repeated random tokens: attention on the first occurrence",
    "previous": "repeated random tokens: attention on the token before",
    "sink": "text: attention on position 0",
    "local": "text: attention within 4 tokens, the query itself counted",
}
"""What names a head; all are masses of attention."""


DISSECTION = {
    "energy_position": ("1", "share of ‖W‖² in the block on the leading position directions, diagonal taken off"),
    "energy_position_null": ("1", "the same for directions drawn at random, mean in closed form"),
    "energy_diagonal": ("1", "share of ‖W‖² on the diagonal"),
    "energy_diagonal_null": ("1", "the same for a matrix of this spectrum turned at random, mean in closed form"),
    "energy_rest": ("1", "share of ‖W‖² that neither the block nor the diagonal has"),
    "threshold": (
        "scores per squared unit of the input",
        "size that one in a thousand entries exceeds along random directions",
    ),
    "survivors_position": ("entries", "entries above the threshold in the block"),
    "survivors_position_null": ("entries", "how many would be by chance"),
    "survivors_elsewhere": ("entries", "entries above the threshold outside the block"),
    "survivors_elsewhere_null": ("entries", "how many would be by chance"),
}
"""What a head's W = scale · W_Q W_Kᵀ is made of: unit and meaning."""


def smooth_scores() -> dict[str, Variable]:
    """Low-frequency shares of three matrices, and how often the position part peaks at its own position."""
    low, turned = "share of energy in frequencies 0..K of", "the same of turned windows"
    by_head = axes("block head frequency")
    return {
        "low_frequency_share_gram": Variable(
            axes("block frequency"), "1", f"{low} P Pᵀ, the cosines of the position vectors of the attention's input"
        ),
        "low_frequency_share_gram_null": Variable(axes("block frequency"), "1", turned),
        "low_frequency_share_weighted": Variable(by_head, "1", f"{low} P W Pᵀ, the position part of the scores"),
        "low_frequency_share_weighted_null": Variable(by_head, "1", turned),
        "low_frequency_share_logits": Variable(
            by_head, "1", f"{low} the full scores before soft cap, ALiBi and mask, mean over windows"
        ),
        "low_frequency_share_logits_se": Variable(by_head, "1", "its standard error over documents"),
        "argmax_share": Variable(
            axes("block head"),
            "1",
            "share of positions t at which (P + mean) W (P + mean)ᵀ is largest at key t among the keys up to t",
        ),
        "argmax_share_null": Variable(axes("block head"), "1", turned),
    }


def panel_rows() -> dict[str, Variable]:
    """One head in one window: four parts of its scores, the scores themselves, the attention, and which head it is."""
    parts = {
        f"{query}_{key}": Variable(
            axes("query key"), "1", f"what {query} as query and {key} as key add to the logits; NaN: masked"
        )
        for query in ("position", "rest")
        for key in ("position", "rest")
    }
    return parts | {
        "logits": Variable(
            axes("query key"),
            "1",
            "the model's logits before soft cap, ALiBi and mask, mean parts counted; NaN: masked",
        ),
        "pattern": Variable(axes("query key"), "1", "attention, as the model's softmax gives it; NaN: masked"),
        "text": Variable(axes("query"), "text", "the tokens' texts, escaped; queries and keys are the same tokens"),
        "block": Variable(
            (), "index", "the block of the head: the largest share of position · position in /constituents"
        ),
        "head": Variable((), "index", "the head within its block"),
        "context": Variable((), "index", "the window of the run"),
    }


def scores() -> dict[str, Variable]:
    """Each score with its error and its null."""
    rows: dict[str, Variable] = {}
    for name, text in SCORES.items():
        over = "documents" if text.startswith("text") else "windows of random tokens"
        rows |= {
            name: Variable(axes("block head"), "1", text),
            f"{name}_se": Variable(axes("block head"), "1", f"its standard error over {over}"),
            f"{name}_null": Variable((), "1", "the highest score of any head of the random twin"),
        }
    return rows


def with_errors(variables: dict[str, Variable]) -> dict[str, Variable]:
    """Each variable, followed by its standard error."""
    both: dict[str, Variable] = {}
    for name, row in variables.items():
        both |= {name: row, f"{name}_se": Variable(row.axes, row.unit, "its standard error over documents")}
    return both


def by_group() -> dict[str, Variable]:
    """What a pass keeps: the mean over each group's windows."""
    kept = {name: ("block head group", unit, text) for name, (unit, text) in SCALARS.items()}
    kept |= {name: (f"block head group {more}", unit, text) for name, (more, unit, text) in SHAPED.items()}
    kept |= {name: ("block group", unit, text) for name, (unit, text) in MIXING.items()}
    return {
        f"{name}_groups": Variable(axes(along), unit, f"by group of documents: {text}")
        for name, (along, unit, text) in kept.items()
    }


GROUPS: dict[str, Group] = {
    "head_groups": Group(
        FILE,
        "what heads do in each group of documents, means over its windows; made by a survey with --heads",
        by_group()
        | {
            "windows": Variable(axes("group"), "windows", "how many windows the group has"),
            "ranked": Variable(axes("group"), "windows", "how many of them were sampled for the ranks of maps"),
        },
    ),
    "heads": Group(
        FILE,
        "what attention heads do over the corpus",
        with_errors(
            {name: Variable(axes("block head"), unit, text) for name, (unit, text) in SCALARS.items()}
            | {name: Variable(axes(f"block head {more}"), unit, text) for name, (more, unit, text) in SHAPED.items()}
        ),
        (head_means, distance_profile, mean_map, signal_profile, map_ranks),
        ("head_groups",),
    ),
    "mixing": Group(
        FILE,
        "what attention does to the tokens of a window, by block",
        with_errors({name: Variable(axes("block"), unit, text) for name, (unit, text) in MIXING.items()}),
        (mixing,),
        ("head_groups",),
    ),
    "repeats": Group(
        NAMES_FILE,
        "the repeated-token test, and what the random twin does; made by armillary heads",
        {
            f"{name}_repeats": Variable(axes("block head repeat"), "1", f"{SCORES[name]}, mean over a window")
            for name in ("induction", "duplicate", "previous")
        }
        | {
            f"{name}_twin": Variable(axes("block head"), "1", f"the random twin on the same {where}: {text}")
            for name, where, text in (
                ("induction", "windows", SCORES["induction"]),
                ("duplicate", "windows", SCORES["duplicate"]),
                ("previous", "windows", SCORES["previous"]),
                ("mass_first", "text", SCORES["sink"]),
                ("mass_local", "text", SCORES["local"]),
            )
        },
    ),
    "constituents": Group(
        NAMES_FILE,
        "which parts of the attention's input move the logits: global, position, rest, as query and as key",
        {
            "share": Variable(
                axes("block head part_query part_key"),
                "1",
                "share of the variance of the logits over keys; the nine add up to 1, one may be negative",
            ),
            "share_se": Variable(axes("block head part_query part_key"), "1", "its standard error over documents"),
        },
    ),
    "dissection": Group(
        NAMES_FILE,
        "the weights of every head along the position directions: W = V L Vᵀ + D + noise (Song & Zhong, equation 9)",
        {name: Variable(axes("block head"), unit, text) for name, (unit, text) in DISSECTION.items()},
    ),
    "qk_smoothness": Group(
        NAMES_FILE,
        "how smooth the scores of heads are along positions, and where their position part peaks",
        smooth_scores(),
    ),
    "six_panels": Group(
        NAMES_FILE,
        "an example: the scores of one head in the first window of the run, its first 64 tokens, by what makes them",
        panel_rows(),
    ),
    "taxonomy": Group(
        NAMES_FILE,
        "names of heads by their behaviour, with the scores that decide them",
        {
            "kind": Variable(
                axes("block head"),
                "text",
                "induction, duplicate, previous, sink, local, uniform; empty where none fits",
            )
        }
        | scores(),
        (taxonomy,),
        ("repeats", "heads", "head_groups"),
    ),
}
