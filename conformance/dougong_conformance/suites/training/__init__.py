"""The cases of level train, by what they are about."""
