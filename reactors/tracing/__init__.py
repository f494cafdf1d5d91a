"""What a run did, span by span: written while it runs, read, and given to others to show."""
