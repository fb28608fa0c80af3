"""What reads the files that people have."""
