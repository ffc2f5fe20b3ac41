from geo import nearest

near: tuple[float, float] = nearest(0.0, 0.0, [1.0], [1.0])
