"""An MCP server over stdio: a method and its knowledge base as tools of any MCP client (`thinkgraph mcp`)."""
