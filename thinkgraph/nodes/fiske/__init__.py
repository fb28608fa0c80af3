"""FiSKE's transitions."""
