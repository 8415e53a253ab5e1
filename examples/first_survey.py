"""How much of each layer of a sentence encoder is position?

    python examples/first_survey.py

Reads 32 windows of the interpreter's own help topics with MiniLM. Position is what all windows share at the same index.
"""

import armillary as arm

view = arm.load("minilm")
run = arm.survey(view, "python-docs", contexts=32, length=64, progress=False)

position, variance = run.results["position"], run.results["variance"]
print(f"{view.name}: {run.provenance['contexts']} windows, {run.provenance['groups']}")
for layer in range(position.sizes["layer"]):
    share, error = float(position.share_corrected[layer]), float(position.share_corrected_se[layer])
    context = float(variance.share.sel(component="context")[layer])
    print(f"layer {layer}: position {100 * share:5.2f} % (SE {100 * error:.2f}), context {100 * context:4.1f} %")
