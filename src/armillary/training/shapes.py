"""A fresh model of one of the shapes of the families table: an ordinary model of transformers."""

from typing import Any

from transformers import AutoConfig, AutoModelForCausalLM

from armillary.models.families import SHAPES
from armillary.models.sources.quiet import quiet
from armillary.models.sources.twins import seeded
from armillary.training.settings import TrainingSettings


def fresh_model(settings: TrainingSettings, vocabulary: int, length: int, padding: int | None) -> Any:
    """The model of these settings with weights by its own initialisation from the seed; embeddings are tied.

    `vocabulary` counts its tokens, `length` the positions of its longest window, `padding` is the token that stands
    for none.
    """
    shape = SHAPES[settings.shape]
    mlp = settings.mlp or 8 * round(shape.mlp * settings.width / 8)
    sizes = {
        "width": settings.width,
        "layers": settings.layers,
        "heads": settings.heads,
        "mlp": mlp,
        "length": length,
        "dropout": settings.dropout,
    }
    named = {name: size for word, size in sizes.items() for name in shape.names[word]}
    special = {"pad_token_id": padding, "bos_token_id": None, "eos_token_id": None}
    with quiet(), seeded(settings.seed):
        config = AutoConfig.for_model(
            shape.model_type, vocab_size=vocabulary, tie_word_embeddings=True, **special, **named, **shape.always
        )
        return AutoModelForCausalLM.from_config(config)
