"""Reading triples and passages from files, and building a knowledge base folder from them."""
