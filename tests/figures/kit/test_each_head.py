"""All heads at once: errors by what was drawn, margins for all heads jointly."""

from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.kit.each_head import labels, per_head
from armillary.results.reading import draws


def test_errors_rest_on_what_was_drawn(results):
    assert draws(results, "heads/distance") == draws(results, "taxonomy/sink") == 16
    assert draws(results, "taxonomy/induction") == 8
    assert draws(results, "constituents/share") == draws(results, "qk_smoothness/low_frequency_share_logits") == 7


def test_a_title_needs_the_margin_of_all_heads_at_once(results, changed):
    one, margin = per_head(results, "heads/distance"), 0.01 * stats.t.ppf(1 - 0.025 / 16, 15)
    run = changed(results, heads__mass_first=0.1)
    assert f"{one.value[0]:.3f} ± {margin:.3f} tokens (L0H0)" in FIGURES["head-distances"].finding(run)
    assert f"{one.value[-1]:.3f} ± {margin:.3f} tokens (L3H3)" in FIGURES["head-distances"].detail(run)
    assert labels(results, "heads/distance")[-1] == "L3H3"
