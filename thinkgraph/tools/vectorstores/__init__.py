"""Vector stores of others: Chroma collections, LangChain vector stores."""
