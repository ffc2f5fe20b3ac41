"""What an administrator watches. Labels are few and fixed: nothing that a caller chooses becomes one."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """The counters of one gateway, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "fairtrial_gateway_requests", "Answered requests.", ["route", "method", "status"], registry=self.registry
        )
        self.bytes = Counter(
            "fairtrial_gateway_bytes", "Bytes of bodies, from and to pods.", ["direction"], registry=self.registry
        )
        self.upload_seconds = Histogram(
            "fairtrial_gateway_upload_seconds",
            "From an upload's first byte to its object.",
            buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600),
            registry=self.registry,
        )
        self.uploads = Gauge("fairtrial_gateway_uploads_in_flight", "Uploads under way.", registry=self.registry)
        self.store_retries = Counter(
            "fairtrial_gateway_store_retries", "S3 calls made again.", ["reason"], registry=self.registry
        )
        self.identity_failures = Counter(
            "fairtrial_gateway_identity_failures", "Callers that were refused.", ["reason"], registry=self.registry
        )

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)
