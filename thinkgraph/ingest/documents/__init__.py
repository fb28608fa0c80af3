"""A knowledge base out of documents that have no graph: reading, cutting, naming, joining, keeping up to date."""
