"""What becomes of a language model when its attention is made flatter or sharper?

    python examples/alpha.py

Multiplies the singular values of W_Q and W_K in all blocks of SmolLM2 by alpha, reads one prompt and lets the model
continue it. In block 0, whose input stays what it was, scores go with alpha squared; deeper blocks also get other
inputs.
"""

import armillary as arm
from armillary.printing.prompt import layers

TEXT = "The armillary sphere shows where the stars stand. The telescope shows"

view = arm.load("smollm2")
plain = arm.prompt(view, TEXT)
print("entropy: nats, mean over heads and queries; moved: half the mean absolute change of a row of attention")
for alpha in (1 / 4, 1 / 2, 1, 2, 4):
    with arm.scaled(view, alpha):
        maps = arm.prompt(view, TEXT)
        continued = arm.continuation(view, TEXT, 16)
    table = layers(maps)
    moved = abs(maps.pattern - plain.pattern).sum("key").mean(("head", "query")) / 2
    print(f"alpha {alpha:g}: entropy {table.entropy[0]:.2f} in block 0, {table.entropy.mean():.2f} in all;", end=" ")
    print(f"first token {table.mass_first.mean():.2f}, itself {table.mass_self.mean():.2f};", end=" ")
    print(f"moved {float(moved[0]):.2f} in block 0, {float(moved.mean()):.2f} in all")
    print(f"   continuation: {continued!r}")

after = arm.prompt(view, TEXT)
print("afterwards the maps are the same bits:", after.pattern.equals(plain.pattern))
