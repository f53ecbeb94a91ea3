"""The documentation: pages below guides, reference, experiments and developers; `make site` builds the site."""
