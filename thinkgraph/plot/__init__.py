"""Pictures of answers: what one stands on, as SVG."""
