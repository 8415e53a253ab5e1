"""A run's model again, and no other."""

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError, SourceError
from armillary.probes.reloading import of_memory, refuse_another, reloaded
from armillary.results import store


@pytest.fixture(scope="module")
def folder(view, tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    view.model.save_pretrained(place)
    return place


@pytest.mark.parametrize("random_weights", [None, 3])
def test_a_model_from_a_folder_is_loaded_again_as_it_was(folder, windows, random_weights):
    view = arm.load(folder, dtype="float64", random_weights=random_weights)
    run = arm.survey(view, windows, sites="residual", progress=False)
    assert not of_memory(run)
    again = reloaded(run)
    refuse_another(run, again)
    assert again.provenance["random_weights"] == view.provenance["random_weights"]
    for name in ("model_sha256", "dtype", "device"):
        assert again.provenance[name] == view.provenance[name]
    assert np.array_equal(again.W_E, view.W_E)


def test_a_model_in_memory_cannot_be_loaded_again(run):
    assert of_memory(run)
    with pytest.raises(RequestError, match=r"expected this run to name a model that can be loaded, .* give it as view"):
        reloaded(run)


def test_another_model_is_refused_by_its_hash(run, learned):
    with pytest.raises(SourceError, match=r"expected the model of this run .* got BertModel \(sha256 \w{12}…\):"):
        refuse_another(run, learned[0])


def test_a_run_that_does_not_name_its_model_is_refused(run):
    nameless = store.Run(store.tree_of({"heads": run.results["corpus"].to_dataset()}, {}))
    with pytest.raises(RequestError, match=r"expected this run to name its model, got no provenance"):
        reloaded(nameless)
