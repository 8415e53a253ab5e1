"""From captured groups to results: how measures find what they ask for."""

import subprocess
import sys

import numpy as np
import pytest
import transformers
import xarray as xr

import armillary as arm
from armillary.errors import StoreError
from armillary.results import store
from armillary.results.measuring import inputs


def test_the_first_group_that_has_a_variable_gives_it_and_a_full_name_finds_the_others():
    residual = xr.Dataset({"mean": ("layer", np.zeros(2))}, coords={"position": [1, 2, 3]})
    sample = xr.Dataset({"mean": ("layer", np.ones(2)), "position": ("sample", [7, 8])})
    found = inputs(("residual", "missing", "sample"), {"residual": residual, "sample": sample})
    assert found["mean"].values.tolist() == [0, 0]
    assert found["sample_mean"].values.tolist() == [1, 1]
    assert found["position"].values.tolist() == [7, 8]
    assert found["residual_position"].values.tolist() == [1, 2, 3]


AGAIN = """
import sys
import armillary
armillary.measure(sys.argv[1])
assert not {"torch", "transformers"} & set(sys.modules)
"""


def test_a_run_is_measured_again_from_its_file_without_torch(tmp_path):
    config = transformers.LlamaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
    )
    view = arm.load(transformers.LlamaForCausalLM(config))
    windows = np.random.default_rng(0).integers(3, 60, (24, 48))
    run = arm.survey(view, windows, out=tmp_path / "run", progress=False, report=False)
    before = {name: node.to_dataset().load() for name, node in run.results.children.items()}
    older = {name: part for name, part in before.items() if name != "depth"}
    older["position"] = older["position"].drop_vars(["rank_heldout", "gram"])
    store.write(tmp_path / "run", "states.nc", older, run.provenance)
    with pytest.raises(StoreError, match="run armillary measure"):
        arm.open(tmp_path / "run")
    subprocess.run([sys.executable, "-c", AGAIN, str(tmp_path / "run")], check=True)
    again = arm.open(tmp_path / "run")
    assert again.provenance == run.provenance
    for name, part in before.items():
        xr.testing.assert_allclose(again.results[name].to_dataset().load(), part, rtol=1e-9)
