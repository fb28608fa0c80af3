"""Chat messages with their right replies, role by role, to fine-tune a model that answers here."""
