"""Question files, gold paths, metrics and the bench."""
