"""`HFSClassifier`: features, heads, training options, saved models."""
