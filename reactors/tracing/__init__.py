"""What a run did, span by span: written while it runs, read, shown, and asked what would be faster."""
