"""From results to the report: one document from which everything that people read is derived. Pure.

`values` a number with its state, its method and what it is of · `model` the sections of report.json · `compute` results
to report, section by section · `canonical` its bytes · `tables` the runs as CSV and Parquet.
"""
