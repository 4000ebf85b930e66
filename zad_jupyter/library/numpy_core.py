"""Expression rules for the hot part of NumPy."""
