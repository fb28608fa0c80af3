"""The perfect chooser: a model that knows the gold paths."""
