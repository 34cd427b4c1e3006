"""The commands `corpus ...`: corpora are imported, exported, distilled, described and compared."""
