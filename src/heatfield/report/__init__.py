"""The page about a folder, and the page about what a search found."""
