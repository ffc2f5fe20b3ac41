"""The gateway: bundles by digest, artifacts create-only, every caller known by its pod."""
