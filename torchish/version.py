"""torch.version: what scripts ask about the build."""

__version__ = "2.13.0"
debug = False
cuda = hip = rocm = xpu = git_version = None
