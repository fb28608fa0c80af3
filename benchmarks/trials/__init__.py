"""The columns of `benchmarks/reliability.py`, and what they share."""
