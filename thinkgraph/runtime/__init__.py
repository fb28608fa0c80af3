"""What carries nodes out: requests, the drivers, dependencies, the run's manifest and ceilings."""
