"""The operator: observes runs and their pods, decides, builds objects, applies them. Kopf watches our own kinds only."""
