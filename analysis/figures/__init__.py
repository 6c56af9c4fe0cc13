"""One figure a file: from runs to a table, from the table to axes."""
