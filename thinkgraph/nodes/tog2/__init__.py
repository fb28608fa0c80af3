"""ToG-2's transitions."""
