"""What differs between installations."""

ATTEMPTS = {"default": 3, "sms": 2}
FALLBACK = {"sms": "webhook", "webhook": "email"}
