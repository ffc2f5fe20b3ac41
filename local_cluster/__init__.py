"""A real one-node Kubernetes and an S3 server with Object Lock, from package registries only. See README.md."""
