"""What survives compaction: the same transcripts, windows and questions through contextd and its peers."""
