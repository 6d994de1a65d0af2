"""Tools that import no other part of the library: input checks, threads, files, summaries."""
