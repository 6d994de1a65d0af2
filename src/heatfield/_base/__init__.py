"""Stands on nothing: input checks, compiling, threads, files."""
