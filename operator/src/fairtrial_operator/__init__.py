"""The operator: observes runs and their pods, decides, builds, applies. Kopf watches our own kinds only."""
