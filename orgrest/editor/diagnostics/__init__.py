"""What is wrong in a document, and what would put it right.

`document` and `requests` have the checks, `fixes` the changes, each as a table; `report` applies
them to an analysis; `model` has what they speak of.
"""
