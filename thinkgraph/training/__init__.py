"""Training graph-to-text: pairs of triples and text, a checkpoint or a small model made from scratch, the loop, the scores."""
