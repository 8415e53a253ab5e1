"""Small models trained here, LocAteR, and geometry while training. Files that settings need import no torch."""
