"""Every number of the report again, from the records, by code that shares nothing with the analysis. Standard library.

`distributions` and `intervals` are textbook statistics; `sample` says which runs a number is of; `methods` computes
each method that a report may name; `rule` the verdict; `compare` walks the report and holds it against all of them.
"""
