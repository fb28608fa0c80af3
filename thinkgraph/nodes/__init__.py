"""The state transitions, named as the papers name them: generators without I/O, and the drivers that run them."""
