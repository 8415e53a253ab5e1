"""What a pass remembers: one file per accumulator, and the state that joins them.

An accumulator is a frozen record. `of(batch)` is the record of one batch, `add(batch)` that of one more batch, and
`merge(other)` that of two records. Both operations give up the records they are called with: large tensors are summed
in place. A tensor whose numbers changed is a new object, and no dict of a record ever changes.
"""
