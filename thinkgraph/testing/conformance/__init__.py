"""Suites that check an implementation of a knowledge protocol, one per protocol."""
