"""The explorer: a network in one HTML file that answers by itself, and its view in notebooks."""
