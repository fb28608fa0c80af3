"""What nodes call: graph stores, text stores, rankers, linking, and the requests that reach them."""
