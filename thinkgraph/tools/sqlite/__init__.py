"""The embedded stores: a knowledge base's graph and passages in SQLite files."""
