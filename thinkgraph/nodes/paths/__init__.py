"""The transitions of `paths`."""
