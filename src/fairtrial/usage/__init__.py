"""Token counts and money from the provider's own fields, never guessed or estimated. Pure, standard library only."""
