"""What langgraph.json names: the graphs of a LangGraph server, and a checkpointer that outlives it."""
