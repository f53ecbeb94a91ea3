"""Search on the general form by small changes of an allocation. This search is ours, not the publication's."""
