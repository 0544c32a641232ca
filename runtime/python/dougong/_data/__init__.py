"""The parts of dougong.data."""
