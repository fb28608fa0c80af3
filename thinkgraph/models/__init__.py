"""The only place that calls a chat model: roles, calls, journal, budget, retries, the offline model."""
