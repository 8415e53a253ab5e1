"""What makes or changes a run, and the page that follows it."""
