"""torch.nn.functional by subject: what is composed of tensor operations, and PyTorch's signatures over the table's rows."""
