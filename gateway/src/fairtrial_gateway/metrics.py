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
        self.refused = Counter(
            "fairtrial_gateway_refused",
            "Requests refused without a journal.",
            ["cause"],
            registry=self.registry,
        )
        self.model_calls = Counter(
            "fairtrial_gateway_model_calls",
            "Model calls by how they ended.",
            ["wire", "ending"],
            registry=self.registry,
        )
        self.model_refusals = Counter(
            "fairtrial_gateway_model_refusals",
            "Model calls that were not forwarded.",
            ["refusal"],
            registry=self.registry,
        )
        self.model_tokens = Counter(
            "fairtrial_gateway_model_tokens",
            "Tokens as providers count them.",
            ["wire", "kind"],
            registry=self.registry,
        )
        self.model_seconds = Histogram(
            "fairtrial_gateway_model_call_seconds",
            "From a model call's start to its end.",
            buckets=(0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800),
            registry=self.registry,
        )
        self.model_open = Gauge("fairtrial_gateway_model_calls_open", "Model calls under way.", registry=self.registry)
        self.journal_bytes = Counter(
            "fairtrial_gateway_journal_bytes", "Bytes of bodies in journals.", ["direction"], registry=self.registry
        )
        self.journals_waiting = Gauge(
            "fairtrial_gateway_journals_waiting", "Journals that are not in the store yet.", registry=self.registry
        )
        self.spool_bytes = Gauge(
            "fairtrial_gateway_spool_bytes", "Bytes of journals in the spool.", registry=self.registry
        )
        self.leaks = Counter(
            "fairtrial_gateway_credential_leaks",
            "Journals, and pods' artifacts, in which a credential or a canary was found.",
            registry=self.registry,
        )

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)
