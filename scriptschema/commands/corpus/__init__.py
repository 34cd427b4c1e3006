"""The commands `corpus ...`: import, export, distill, describe and compare corpora."""
