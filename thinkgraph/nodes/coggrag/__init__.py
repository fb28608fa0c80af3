"""CogGRAG's transitions."""
