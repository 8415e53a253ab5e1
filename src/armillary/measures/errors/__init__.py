"""What makes errors: groups of documents, jackknife, leaving one group out."""
