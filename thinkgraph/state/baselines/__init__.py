"""The baselines' states and settings."""
