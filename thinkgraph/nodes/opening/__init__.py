"""The transitions that begin a run."""
