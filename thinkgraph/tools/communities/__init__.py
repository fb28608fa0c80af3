"""Community detection and community-to-text."""
