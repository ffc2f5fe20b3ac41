"""The decision rule as data: frozen before the first run, evaluated once, simulated beforehand. Pure.

`model` the rule and its digest · `vocabulary` what it may read · `results` what it is applied to · `observe` one
statistic of one metric · `evaluate` the table and the verdict · `stability` the verdict under other readings of the
data · `lint` what can't be right · `english` the rule in sentences · `truths` and `simulate` how often it would say
what.
"""
