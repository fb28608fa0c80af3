"""The baselines' transitions."""
