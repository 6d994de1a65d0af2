"""Search: the clouds most like a given one, by distance of standardised descriptors."""
