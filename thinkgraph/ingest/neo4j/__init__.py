"""Exports of a knowledge base to Neo4j."""
