"""Sentence encoders and rankers."""
