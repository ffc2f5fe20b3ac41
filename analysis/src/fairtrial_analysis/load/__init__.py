"""From stored documents to rows and results: the only part of the analysis that reads anything.

`source` where documents come from · `values` the metrics of a record · `rows` one record reduced to one row ·
`inputs` preregistration, ledger and other documents, checked · `results` all of it, with whatever is wrong.
"""
