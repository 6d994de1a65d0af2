"""Tools that import no other part of the library: input checks, compilation, threads, files."""
