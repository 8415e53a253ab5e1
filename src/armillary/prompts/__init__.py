"""One text: its token ids, words, maps and continuation, and a built-in task by examples."""
