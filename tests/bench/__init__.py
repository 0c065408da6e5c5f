"""What `make bench` measures: ratios against a peer in the same run, never times on their own."""
