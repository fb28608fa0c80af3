"""Transitions that several methods share."""
