"""How one request is written for each provider, watched while it is answered, and read."""
