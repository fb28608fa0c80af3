"""Helpers that build the bundled example knowledge base `world` from factbook extracts."""
