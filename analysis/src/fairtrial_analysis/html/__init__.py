"""report.json as one page that anyone can open, read, print and check: no script, no network, the same bytes each time.

`markup` and `svg` know how to write, `plots` what to draw, `sections` what to say; `page` puts them together. All of it
is pure: it reads the model of report.json and nothing else.
"""
