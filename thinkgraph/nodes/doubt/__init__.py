"""Doubt: is an answer what the question asks for, and how a search goes back."""
