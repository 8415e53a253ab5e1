"""What attention does to the tokens of a window."""

import numpy as np

from armillary.figures import FIGURES
from made_up import GROUPS


def test_sides_differ_significantly_where_they_do_so_in_nearly_all_groups(results, changed):
    figure = FIGURES["token-similarity"]
    assert figure.finding(results) == "Attention output is more similar than the states in all 4 blocks"
    assert figure.detail(results).startswith("Significantly more similar in all 4 blocks; output ")
    mixed = np.where(np.arange(GROUPS) % 3, 0.5, 0.1)
    same = changed(results, head_groups__similarity_output_groups=mixed)
    assert "does not differ significantly" in figure.finding(same)
    unknown = changed(results, head_groups__similarity_output_groups=None)
    assert figure.finding(unknown).endswith("; this run gives no error for it")
