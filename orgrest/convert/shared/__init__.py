"""Code shared by the formats: model, texts, forms, credentials, scripts, documents, exports."""
