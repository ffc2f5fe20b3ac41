"""One module per kind of figure: what it shows as plain data, and how that is drawn. Pure; none reads a report.

`sections` makes the data from the report. Everything that a figure shows also stands in the table that follows it.
"""
