"""What a fleet is asked to do, and when it is over."""
