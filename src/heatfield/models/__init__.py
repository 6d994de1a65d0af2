"""What is learned from, or built of, described clouds, and how it is saved."""
