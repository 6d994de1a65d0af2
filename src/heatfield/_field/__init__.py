"""The heat field anywhere in space."""
