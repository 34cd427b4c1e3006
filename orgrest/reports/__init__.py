"""Reports of a run: JUnit, TAP, JSON, HTTP Archive, HTML. Each reads the records one by one."""
