"""What writes a knowledge base's graph."""
