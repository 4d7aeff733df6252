"""From recordings to a vehicle's numbers, with intervals, and validation of them."""
