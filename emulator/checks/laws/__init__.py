"""Laws of users' parts: what a codec keeps, and what a plugin of each family returns."""
