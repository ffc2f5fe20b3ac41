"""What every part of Fairtrial shares: the API, the evidence layout and records, the task format, the errors."""
