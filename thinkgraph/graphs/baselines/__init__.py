"""The baselines' graphs."""
