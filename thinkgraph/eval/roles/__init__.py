"""A bench of roles: single calls of known outcome, put to any model one at a time."""
