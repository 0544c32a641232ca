"""The oracles: NumPy, written from the definition, sharing no code with any plugin."""
