"""The step that every method ends with."""
