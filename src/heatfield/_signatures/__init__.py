"""From sums to geometry: scales, the paper's equations, signatures."""
