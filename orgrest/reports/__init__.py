"""Reports of a run: JUnit, TAP, JSON, HTTP Archive and HTML, each written record by record."""
