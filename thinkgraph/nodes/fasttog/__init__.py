"""FastToG's transitions."""
