"""The page: ask, watch a run think, see what its answer stands on. An ASGI application and a folder of plain modules."""
