"""A plan says what a survey takes: bytes are those of the survey, times add up, the error falls as it should."""

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError
from armillary.printing.plan import as_csv, as_json, duration, lines, size
from armillary.surveys.costs import cost_of, plan_like
from armillary.surveys.preparing import prepared
from armillary.surveys.settings import Settings

TEXT = np.random.default_rng(0).integers(3, 97, (64, 16))
OPTIONS = {"contexts": 64, "length": 16, "shard_tokens": 256}


@pytest.fixture(scope="module")
def alone(tiny_llama):
    return arm.plan(tiny_llama, TEXT, until_se=0.001, **OPTIONS)


def test_it_has_the_shards_memory_and_file_of_the_survey(tiny_llama, alone, tmp_path):
    ready = prepared(tiny_llama, TEXT, Settings.of(**OPTIONS))
    assert alone.shards == len(ready.plan.shards)
    assert alone.memory == pytest.approx(ready.memory, rel=0.1)
    arm.survey(tiny_llama, TEXT, out=tmp_path, progress=False, report=False, **OPTIONS)
    assert alone.disk == pytest.approx((tmp_path / "states.nc").stat().st_size, rel=0.1)
    assert alone.memory_model == sum(parameter.nbytes for parameter in tiny_llama.model.parameters())


def test_times_are_made_of_what_was_measured(alone):
    rates = alone.rates
    expected = 64 * 16 * (rates.forward + rates.sums) + alone.shards * rates.merging
    assert alone.seconds_pass == pytest.approx(expected)
    assert alone.seconds == pytest.approx(expected + rates.after)
    assert min(rates.forward, rates.merging, rates.after, rates.sending) > 0


def test_workers_share_the_pass_and_send_their_states(tiny_llama, monkeypatch, alone):
    from armillary.surveys import costs

    monkeypatch.setattr(costs, "calibrated", lambda *given: alone.rates)
    many = cost_of(tiny_llama, TEXT, Settings.of(**OPTIONS), workers=2)
    rates = alone.rates
    share = 64 * 16 * (rates.forward + rates.sums) / many.shards * -(-many.shards // 2)
    assert many.seconds_pass == pytest.approx(max(share, many.shards * (rates.merging + rates.sending)))
    assert many.network == many.shards * rates.state_bytes
    assert alone.network == 0


def test_the_error_is_that_of_the_calibration_and_falls_with_the_root_of_the_windows(tiny_llama, monkeypatch, alone):
    from armillary.surveys import costs

    spread = TEXT[np.linspace(0, 63, 32).round().astype(int)]
    run = arm.survey(tiny_llama, spread, progress=False, **{**OPTIONS, "contexts": 32})
    assert alone.rates.se == pytest.approx(float(run.results["position"].share_corrected_se.max()))
    assert alone.windows_for_se == np.ceil(32 * (alone.rates.se / 0.001) ** 2)
    assert alone.se == pytest.approx(alone.rates.se / np.sqrt(2))
    monkeypatch.setattr(costs, "calibrated", lambda *given: alone.rates)
    larger = cost_of(tiny_llama, TEXT, Settings.of(**{**OPTIONS, "contexts": 256}), workers=1)
    assert larger.se == pytest.approx(alone.se / 2)


def test_a_billion_tokens_are_planned_without_a_place_for_them():
    plan = plan_like(Settings.of(contexts=10**6, length=1024, shard_tokens=10**6))
    assert plan.tokens.size > 10**9
    assert plan.tokens.base is not None
    assert 900 < len(plan.shards) < 1200


def test_what_is_printed_begins_with_the_time(alone):
    said = lines(alone)
    assert said[0] == f"64 windows of 16 tokens on this machine: {duration(alone.seconds)}"
    assert any(line.startswith("wanted   about ") for line in said)
    assert max(map(len, said)) <= 120
    assert '"windows_for_se"' in as_json(alone)
    assert as_csv(alone).splitlines()[0].startswith("contexts,length,shards,workers,seconds")


def test_units_follow_the_size():
    assert [duration(s) for s in (0.31, 42.0, 240.0, 7300.0, 4e5)] == ["0.3 s", "42 s", "4.0 min", "2.0 h", "4.6 days"]
    assert [size(b) for b in (5 * 10**6, 1_500_000_000, 3 * 10**12)] == ["5 MB", "1.5 GB", "3.0 TB"]


def test_no_worker_is_refused(tiny_llama):
    with pytest.raises(RequestError, match=r"^expected workers of at least 1, got 0: choose a larger one$"):
        arm.plan(tiny_llama, TEXT, workers=0)
