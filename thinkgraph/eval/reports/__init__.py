"""Tables and reports of a bench."""
