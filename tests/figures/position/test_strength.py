"""How strong position is: counts say what was counted."""

from armillary.figures import FIGURES
from armillary.measures.heldout import LEADING


def test_where_every_mode_that_is_looked_at_counts_there_may_be_more(results, changed):
    held = {f"position__rank_heldout{each}": LEADING for each in ("", "_low", "_high")}
    run = changed(results, **held)
    figure = FIGURES["position-spectrum"]
    assert figure.finding(run) == "At least 20 modes exceed the null in held-out documents (layer 0)"
    assert figure.detail(run).startswith("Held-out rank at least 20, all that are looked at, in layer 0; ")
