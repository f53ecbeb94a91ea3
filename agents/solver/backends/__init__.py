"""The published search on the general form of a problem: plain Python, compiled for processors, and OpenCL."""
