"""Two tiny models with a run each: one that rotates by position, one that knows positions by a table."""

import numpy as np
import pytest
import torch
import transformers

import armillary as arm
from armillary.models.attention import attention_calls


def tiny(kind="Llama", seed=0, **changes):
    options = {
        "vocab_size": 97,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 64,
    } | changes
    config = getattr(transformers, f"{kind}Config")(**options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, f"{kind}Model")(config)
        for weight in model.parameters():
            # Biases and gains are drawn too: one that is dropped or counted twice must be seen.
            weight.data.mul_(3) if weight.ndim > 1 else weight.data.add_(torch.randn_like(weight) * 0.3)
    return arm.load(model)


@pytest.fixture(scope="module")
def windows():
    return np.random.default_rng(0).integers(3, 97, (24, 16))


@pytest.fixture(scope="module")
def view():
    return tiny(num_key_value_heads=2)


@pytest.fixture(scope="module")
def run(view, windows):
    return arm.survey(view, windows, progress=False)


@pytest.fixture(scope="module")
def learned(windows):
    """A model that knows positions by a table, and its run."""
    view = tiny("Bert")
    return view, arm.survey(view, windows, progress=False)


@pytest.fixture(scope="session")
def calls_of():
    """The attention calls of one row of ids."""

    def calls(view, ids):
        found = []
        with torch.no_grad(), attention_calls(view, found.append):
            view.run(np.asarray(ids)[None])
        return found

    return calls


@pytest.fixture(scope="session")
def random_model():
    """A Llama of three blocks of eight heads, by its seed."""

    def model(seed, **changes):
        options = {
            "vocab_size": 211, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 8,
            "num_key_value_heads": 4, "intermediate_size": 64, "max_position_embeddings": 80,
        }  # fmt: skip
        config = transformers.LlamaConfig(**{**options, **changes})
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return arm.load(transformers.LlamaForCausalLM(config), check=False)

    return model


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def few_draws(monkeypatch, request):
    """The null is drawn from few directions where no test looks at it."""
    if "readable" not in request.node.name:
        monkeypatch.setattr("armillary.probes.stores.readings.DRAWS", 30)
