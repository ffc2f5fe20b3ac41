from geo import Point, distance, nearest, route_length

far: float = distance(Point(0.0, 0.0), Point(3.0, 4.0))
long: float = route_length([Point(0.0, 0.0), Point(3.0, 4.0)])
near: Point = nearest(Point(0.0, 0.0), [Point(1.0, 1.0)])
