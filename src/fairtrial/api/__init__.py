"""The five kinds of the API as models, and what is generated from them."""
