"""Is it training that makes position, or the architecture alone?

    python examples/random_weights.py

Surveys MiniLM and its random-weight control (same config and tokenizer, fresh weights) on the same windows.
"""

import armillary as arm

settings = {"contexts": 32, "length": 32, "progress": False}
trained = arm.table(arm.survey(arm.load("minilm"), "python-docs", **settings))
random = arm.table(arm.survey(arm.load("minilm", random_weights=0), "python-docs", **settings))

print("layer   position share, trained   random weights")
for layer in trained.index:
    shares = [
        f"{100 * share:6.2f} % (SE {100 * error:.2f})"
        for share, error in (
            table.loc[layer, ["position_share_corrected", "position_share_corrected_se"]] for table in (trained, random)
        )
    ]
    print(f"{layer:5}   {shares[0]:>23}   {shares[1]:>14}")
