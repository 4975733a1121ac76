"""What the benches of `scripts/benchmarks` share: the form of their results, what they run on, and the page that shows them."""
