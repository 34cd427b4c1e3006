"""What the formats share: the model, texts, forms, credentials, scripts; documents and exports."""
