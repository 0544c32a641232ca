"""What the level train trains: the data, the two networks, and their float64 references in NumPy."""
