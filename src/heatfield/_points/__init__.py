"""Labels for points: features at lengths that all clouds share, and what reads them."""
