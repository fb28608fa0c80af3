"""Vector stores: the index over everything, Chroma collections, LangChain vector stores."""
