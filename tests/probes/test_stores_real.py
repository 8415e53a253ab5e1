"""Stores of a real model: the same tokens on one and on two threads, in either direction of folding."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

import armillary as arm

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def minilm():
    return arm.load("minilm", check=False)


@pytest.mark.parametrize("folded", [True, False])
def test_tokens_of_a_real_block_do_not_depend_on_threads_or_seed(minilm, folded):
    found = []
    for threads, seed in ((1, 0), (2, 0), (2, 5)):
        torch.set_num_threads(threads)
        with threadpool_limits(threads):
            run = arm.stores(minilm, block=2, folded=folded, seed=seed, words=["river", "money"], progress=False)
        found.append(run.results)
    torch.set_num_threads(1)
    for other in found[1:]:
        for path in ("stores/token", "store_words/value_token", "store_words/key_word"):
            assert np.array_equal(found[0][path], other[path]), path


def test_block_0_reads_better_than_random_directions(minilm):
    stores = arm.stores(minilm, block=0, progress=False).results["stores"].to_dataset()
    assert float((stores.peak > stores.peak_null).mean()) > 0.2
    assert "to" in stores.text.sel(head=0, side="input", triplet=1, end="positive").values
