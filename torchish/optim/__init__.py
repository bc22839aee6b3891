"""torch.optim: optimizers and learning rate schedules."""

from torchish.optim._muon import Muon
from torchish.optim._swap import swap_in_optimizer_params_and_state
from torchish.optim.adadelta import Adadelta
from torchish.optim.adafactor import Adafactor
from torchish.optim.adagrad import Adagrad
from torchish.optim.adam import Adam, AdamW
from torchish.optim.adamax import Adamax
from torchish.optim.asgd import ASGD
from torchish.optim.lbfgs import LBFGS
from torchish.optim.nadam import NAdam
from torchish.optim.optimizer import Optimizer
from torchish.optim.radam import RAdam
from torchish.optim.rmsprop import RMSprop
from torchish.optim.rprop import Rprop
from torchish.optim.sgd import SGD
from torchish.optim.sparse_adam import SparseAdam
from torchish.optim import lr_scheduler, swa_utils

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam",
           "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler",
           "swa_utils", "swap_in_optimizer_params_and_state"]
