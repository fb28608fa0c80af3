"""Any existing Neo4j property graph as a knowledge base, read only. Importing this loads no driver."""
