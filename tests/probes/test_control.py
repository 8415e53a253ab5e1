"""The random-weight control: of its heads hardly one gets a name, and it begins as the run's windows do."""

import numpy as np
import torch

import armillary as arm
from armillary.attention.reading import reading_heads
from armillary.probes import control, naming
from armillary.probes.repeats import repeated_windows
from armillary.results import measuring as results
from armillary.results import store
from armillary.surveys.head_tables import head_dataset
from armillary.surveys.sums.heads import Heads


def heads_alone(view, tokens):
    """A run that holds nothing but heads."""
    with torch.inference_mode(), reading_heads(view, skipped=1, drop=True) as read:
        read.ranked = (0, 4)
        view.run(tokens)
        found = Heads.of(read.take(view.n_blocks), tuple(row // 2 for row in range(len(tokens))))
    groups = {"head_groups": head_dataset(found, tokens.shape[1])}
    return store.Run(store.tree_of(groups | results.measured(groups), {}))


def test_of_twenty_random_models_hardly_a_head_gets_a_name_but_uniform(random_model):
    view = random_model(0)
    tokens = np.random.default_rng(0).integers(211, size=(8, 24))
    repeated = repeated_windows(view, np.arange(211)[None], copy=32, windows=4)
    kinds = []
    for seed in range(20):
        twin = arm.load(view.model, random_weights=seed, check=False)
        found = control.repeat_dataset(twin, repeated, tokens[:4], 0, 1000 + seed, lambda windows: None)
        kinds.append(naming.with_names(heads_alone(twin, tokens), {"repeats": found}).results["taxonomy"].kind.values)
    other = [kind for kind in np.concatenate(kinds).ravel().tolist() if kind != "uniform"]
    assert len(other) <= 0.01 * 20 * 24, other


def test_a_bos_that_all_windows_share_begins_the_repeated_ones_too():
    shared = np.array([[3, 1, 2], [3, 4, 5]])
    assert control.shared_prefix(shared) == (3,)
    assert control.shared_prefix(shared[:, 1:]) == ()
