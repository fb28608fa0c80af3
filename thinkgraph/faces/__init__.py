"""LangChain's own shapes around what the package does: a retriever, a tool, tools over the knowledge alone."""
