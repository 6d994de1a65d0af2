"""Models as safetensors and JSON."""
