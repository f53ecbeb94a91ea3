"""Shows scenarios as Gymnasium environments, and a network as a learner sees it."""
