"""A run told in files: JUnit, TAP, JSON, HTTP Archive, HTML. Each reads records, one by one."""
