"""Reports of a run as JUnit, TAP, JSON, HTTP Archive or HTML, written record by record."""
