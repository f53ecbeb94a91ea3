"""The documentation: pages by what a reader wants to do; `make site` builds the site."""
