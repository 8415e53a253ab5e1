"""One text: maps, words, examples, continuation."""
