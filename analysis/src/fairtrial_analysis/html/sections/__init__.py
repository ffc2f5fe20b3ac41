"""One module per section of the page: from the report to words, tables and figures. Pure."""
