"""What users test their own stores, rankers, models and methods with."""
