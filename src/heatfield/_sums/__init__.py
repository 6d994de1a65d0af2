"""From an arranged cloud and diffusion times to the table of sums."""
