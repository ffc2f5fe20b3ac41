from geo import distance

far: float = distance(0.0, 0.0, 3.0, 4.0)
