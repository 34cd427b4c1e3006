"""Code that the formats share: model, strings, forms, credentials, scripts, documents, exports."""
