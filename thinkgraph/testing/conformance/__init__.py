"""Suites that any implementation of the knowledge interface's protocols can run: subclass one, give its fixture."""
