"""The search agent's transitions."""
