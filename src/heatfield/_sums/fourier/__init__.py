"""Sums of one scale from Fourier modes."""
