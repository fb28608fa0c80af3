"""What users test their own stores, rankers and methods with."""
