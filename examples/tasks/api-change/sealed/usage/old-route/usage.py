from geo import route_length

long: float = route_length([0.0, 3.0], [0.0, 4.0])
