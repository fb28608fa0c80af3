"""LangChain classes: retriever, tool, knowledge tools."""
