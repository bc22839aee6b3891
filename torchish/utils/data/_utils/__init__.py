"""Parts of the DataLoader."""
