"""Run the published search on the general form of a problem: in plain Python, on processors, with OpenCL."""
