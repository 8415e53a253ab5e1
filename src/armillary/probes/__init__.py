"""Questions asked of a model beside a finished run.

`naming` asks them all for `armillary heads`: `control` and `repeats` the repeated-token test, `constituents`,
`dissection`, `qk_smoothness` and `six_panels` what position does in every head. `inputs` is what a run knows of an
attention's inputs, `windows` which windows are read once more, `reloading` the run's model again.
"""
