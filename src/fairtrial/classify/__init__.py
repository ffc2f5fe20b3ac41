"""From observed facts to an outcome: one table, read from top to bottom; the first row that holds decides."""

from fairtrial.classify.facts import Facts, facts_of
from fairtrial.classify.table import TABLE, Classification, Row, classify

__all__ = ["TABLE", "Classification", "Facts", "Row", "classify", "facts_of"]
