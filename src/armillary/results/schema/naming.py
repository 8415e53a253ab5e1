"""What `armillary heads` adds to a run: names of heads, and what position does in each."""

from armillary.measures.taxonomy import taxonomy
from armillary.results.schema.kinds import Group, Variable, axes, with_error

FILE = "names.nc"
COMMAND = "armillary heads RUN"
PER_HEAD = axes("block head")
PARTS = ("mean", "position", "residual")
"""The parts of an attention's input, in the order in which they are stored."""

KINDS = {
    "induction": "induction",
    "duplicate": "duplicate-token",
    "previous": "previous-token",
    "sink": "attention sink",
    "local": "local",
    "uniform": "uniform",
}
"""Every kind of head by the word that is stored, and what the field calls it."""

SCORES = {
    "induction": "repeated random tokens: attention on the token after the first occurrence",
    "duplicate": "repeated random tokens: attention on the first occurrence",
    "previous": "repeated random tokens: attention on the previous token",
    "sink": "text: attention on position 0",
    "local": "text: attention within 4 tokens, the query itself counted",
}
"""What names a head; all are masses of attention."""

EXAMPLES = ("induction", "previous", "duplicate")
"""The kinds of which the clearest head is taken apart in a window of repeated tokens."""

REPEATED = ("induction", "duplicate", "previous")
"""The scores of the repeated-token test."""


def scores() -> dict[str, Variable]:
    """Each score with its error and its null."""
    rows: dict[str, Variable] = {}
    for name, text in SCORES.items():
        row = Variable(PER_HEAD, "1", text, label=f"{KINDS[name]} score", share=True)
        on_text = name not in REPEATED
        rows |= with_error(name, row, "documents" if on_text else "repeats", without=on_text)
        rows[f"{name}_null"] = Variable((), "1", "the highest score of any head of the random-weight control")
    return rows


def repeats() -> dict[str, Variable]:
    """The repeated-token test window by window, and the random-weight control on the same input."""
    on_text = {"mass_first": SCORES["sink"], "mass_local": SCORES["local"]}
    control = {name: SCORES[name] for name in REPEATED} | on_text
    return {
        f"{name}_repeats": Variable(axes("block head repeat"), "1", f"{SCORES[name]}, mean over a window")
        for name in REPEATED
    } | {f"{name}_twin": Variable(PER_HEAD, "1", f"random-weight control: {text}") for name, text in control.items()}


def dissection() -> dict[str, Variable]:
    """What a head's W = scale · W_Q W_Kᵀ is made of."""
    shares = {
        "energy_position": "share of ‖W‖² in the block on the leading position directions, diagonal taken off",
        "energy_position_null": "the same for directions drawn at random, mean in closed form",
        "energy_diagonal": "share of ‖W‖² on the diagonal",
        "energy_diagonal_null": "the same for a matrix of this spectrum rotated at random, mean in closed form",
        "energy_residual": "share of ‖W‖² that neither the block nor the diagonal has",
    }
    entries = {
        "survivors_position": "entries above the threshold in the block",
        "survivors_position_null": "how many would be by chance",
        "survivors_elsewhere": "entries above the threshold outside the block",
        "survivors_elsewhere_null": "how many would be by chance",
    }
    threshold = "size that one in a thousand entries exceeds along random directions"
    return {
        **{name: Variable(PER_HEAD, "1", text, share=True) for name, text in shares.items()},
        "threshold": Variable(PER_HEAD, "scores per squared unit of the input", threshold),
        **{name: Variable(PER_HEAD, "entries", text) for name, text in entries.items()},
    }


def smooth_scores() -> dict[str, Variable]:
    """Low-frequency shares of three matrices, and how often the positional part peaks at its own position."""
    low, shifted = "share of energy in frequencies 0..K of", "the same of circularly shifted windows"
    by_head, by_block = axes("block head frequency"), axes("block frequency")
    return {
        "low_frequency_share_gram": Variable(
            by_block, "1", f"{low} P Pᵀ, the cosines of the position vectors of the attention's input", share=True
        ),
        "low_frequency_share_gram_null": Variable(by_block, "1", shifted, share=True),
        "low_frequency_share_weighted": Variable(
            by_head, "1", f"{low} P W Pᵀ, the position → position term of the scores", share=True
        ),
        "low_frequency_share_weighted_null": Variable(by_head, "1", shifted, share=True),
        **with_error(
            "low_frequency_share_logits",
            Variable(
                by_head,
                "1",
                f"{low} the full scores before soft cap, ALiBi and mask, mean over windows",
                label="low-frequency share of the logits",
                share=True,
            ),
        ),
        "argmax_share": Variable(
            PER_HEAD,
            "1",
            "share of positions t at which (P + mean) W (P + mean)ᵀ is largest at key t among the keys up to t",
            label="argmax property",
            share=True,
        ),
        "argmax_share_null": Variable(PER_HEAD, "1", shifted, share=True),
    }


def panel_rows() -> dict[str, Variable]:
    """One head in one window: four parts of its scores, the scores themselves, the attention, and which head it is."""
    parts = {
        f"{query}_{key}": Variable(
            axes("query key"), "1", f"what {query} as query and {key} as key add to the logits; NaN: masked"
        )
        for query in PARTS[1:]
        for key in PARTS[1:]
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
            (), "index", "the block of the head: the largest share of position → position in /constituents"
        ),
        "head": Variable((), "index", "the head within its block"),
        "context": Variable((), "index", "the window of the run"),
    }


def example_rows() -> dict[str, Variable]:
    """The same panels of several heads in one window of repeated tokens."""
    panels = {
        name: Variable(axes("example query key"), row.unit, row.text)
        for name, row in panel_rows().items()
        if row.axes == axes("query key")
    }
    return panels | {
        "text": panel_rows()["text"],
        "kind": Variable(axes("example"), "text", f"which score it has the highest of: {', '.join(EXAMPLES)}"),
        "block": Variable(axes("example"), "index", "the block of the head"),
        "head": Variable(axes("example"), "index", "the head within its block"),
    }


GROUPS: dict[str, Group] = {
    "repeats": Group(
        FILE, "the repeated-token test, and what the random-weight control does", repeats(), command=COMMAND
    ),
    "constituents": Group(
        FILE,
        "which parts of the attention's input move the logits: mean, position, residual, as query and as key",
        with_error(
            "share",
            Variable(
                axes("block head part_query part_key"),
                "1",
                "share of the variance of the logits over keys; the nine add up to 1, one may be negative",
                label="share of the logits' variance",
                share=True,
            ),
        )
        | {
            "share_null": Variable(
                axes("block head part_query part_key"),
                "1",
                "the same with the positional basis of circularly shifted windows",
                optional=True,
                share=True,
            )
        },
        command=COMMAND,
    ),
    "dissection": Group(
        FILE,
        "the weights of every head along the position directions: W = V L Vᵀ + D + noise (Song & Zhong, equation 9)",
        dissection(),
        command=COMMAND,
    ),
    "qk_smoothness": Group(
        FILE,
        "how smooth the scores of heads are along positions, and where their positional part peaks",
        smooth_scores(),
        command=COMMAND,
    ),
    "six_panels": Group(
        FILE,
        "an example: the scores of one head in the first window of the run, its first 64 tokens, by what makes them",
        panel_rows(),
        command=COMMAND,
    ),
    "head_examples": Group(
        FILE,
        "examples: the scores of the clearest heads in a window of repeated tokens, by what makes them",
        example_rows(),
        command=COMMAND,
    ),
    "taxonomy": Group(
        FILE,
        "kinds of heads by their behaviour, with the scores that decide them",
        {
            "kind": Variable(PER_HEAD, "text", f"{', '.join(KINDS)}; empty where none fits", label="kind"),
            "labels": Variable(
                PER_HEAD,
                "text",
                "every kind whose threshold the head passes, its kind first",
                label="labels",
                optional=True,
            ),
        }
        | scores(),
        (taxonomy,),
        ("repeats", "heads", "head_groups"),
        COMMAND,
    ),
}
