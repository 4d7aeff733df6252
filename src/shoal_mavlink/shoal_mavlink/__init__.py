"""ArduSub vehicles behind the fleet's topics."""
