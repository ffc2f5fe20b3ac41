"""One module for each schema. `MIGRATIONS[n - 1]` leads to schema n."""

from orders.migrations import m0001, m0002

MIGRATIONS = (m0001.apply, m0002.apply)
