"""One short file per trace format, each from a file to the common columns of `base.Trace`."""
