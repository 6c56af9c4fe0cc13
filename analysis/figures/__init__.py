"""The figures, one in each file: a table made from runs, and a drawing made from the table."""
