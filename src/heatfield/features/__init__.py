"""From signatures to numbers for learning."""
