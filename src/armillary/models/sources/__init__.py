"""Where a checkpoint comes from.

`loading` goes from a name to a View. `named` lists the built-in models; `hub` fetches hub ids, `gguf` dequantises GGUF
files, `checkpoints` refuses what is not to be trusted in a folder and makes the model, `twins` gives it random weights,
`provenance` says what a View is made of, `quiet` keeps transformers silent meanwhile.
"""
