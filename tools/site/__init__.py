"""What the documentation site generates: API, commands, columns, and the table from paper to command."""
