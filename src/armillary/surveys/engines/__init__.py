"""Who runs the shards of a survey."""
