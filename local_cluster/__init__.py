"""A real one-node Kubernetes and an S3 server with Object Lock, from package registries only. See README.md."""

from local_cluster.cluster import Cluster, current, down, up

__all__ = ["Cluster", "current", "down", "up"]
