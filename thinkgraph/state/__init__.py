"""Typed, plain-JSON states: what stores hand over, evidence, answers, usage, settings.

Everything here is a TypedDict of strings, numbers, booleans, lists and dicts, so that a state is readable in LangGraph
Studio, safe under strict msgpack, and the same object in Python and from a server. This package imports nothing of ours.
"""
