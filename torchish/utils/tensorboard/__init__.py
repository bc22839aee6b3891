"""torch.utils.tensorboard: event files that TensorBoard shows; writing them needs no further package."""

import os
import socket
import time

import numpy as np

from torchish.tensor import Tensor
from torchish.utils.tensorboard import _events as e

__all__ = ["SummaryWriter"]


def _array(x):
    if isinstance(x, Tensor):
        return x.detach().cpu().numpy()
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def _number(x):
    if not isinstance(x, (Tensor, np.ndarray)):
        return float(x)
    array = _array(x).squeeze()
    if array.ndim:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and {array.ndim} dimensions."
        )
    return float(array)


def _exponential_edges():
    """Histogram edges that grow by a tenth, on both sides of zero."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-edge for edge in reversed(edges)] + [0.0] + edges


def _histogram(values, bins, max_bins):
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, edges = np.histogram(values, bins=_exponential_edges() if bins == "tensorflow" else bins)
    step = len(counts) // max_bins if max_bins else 1
    if step > 1:
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        edges = np.append(edges[:-1:step], edges[-1])
    full = np.flatnonzero(counts)
    if not full.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = full[0], full[-1] + 1
    limits, buckets = edges[first : last + 1], np.concatenate([[0], counts[first:last]])
    square = values.astype(np.float64)
    return values.min(), values.max(), values.size, values.sum(), square.dot(square), limits, buckets


def _grid(images):
    """N images of 3 channels, up to eight in a row, as one."""
    number, channels, height, width = images.shape
    columns = min(number, 8)
    rows = -(-number // columns)
    canvas = np.zeros((rows * columns, channels, height, width), images.dtype)
    canvas[:number] = images
    canvas = canvas.reshape(rows, columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    return canvas.reshape(rows * height, columns * width, channels)


def _pixels(array, layout):
    """The image, or the grid of images, as an array of bytes in the order height, width, channel."""
    if len(set(layout)) != len(layout):
        raise AssertionError(f"You can not use the same dimension shordhand twice. input_format: {layout}")
    if array.ndim != len(layout):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {layout}"
        )
    layout, scale = layout.upper(), 1 if array.dtype == np.uint8 else 255
    if "C" not in layout:
        layout, array = layout + "C", array[..., None]
    order = "NCHW" if "N" in layout else "HWC"
    array = array.transpose([layout.index(axis) for axis in order])
    channel = order.index("C")
    if array.shape[channel] == 1:
        array = np.repeat(array, 3, channel)
    array = _grid(array) if "N" in order else array
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def _image(pixels):
    height, width, channels = pixels.shape
    return e.chunk(4, e.integer(1, height), e.integer(2, width), e.integer(3, channels), e.chunk(4, e.png(pixels)))


class SummaryWriter:
    """Writes scalars, histograms, images, text and hyperparameters to event files in `log_dir`."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + socket.gethostname() + comment)
        self.log_dir = str(log_dir)
        self.purge_step, self.max_queue, self.flush_secs, self.filename_suffix = purge_step, max_queue, flush_secs, filename_suffix
        self._files = {}
        file = self._file(self.log_dir)
        if purge_step is not None:
            file.write(e.chunk(3, "brain.Event:2"), purge_step)
            file.write(e.chunk(7, e.integer(1, 1)), purge_step)  # a session starts: what came later is void

    def _file(self, folder):
        if folder not in self._files:
            self._files[folder] = e.EventFile(folder, self.filename_suffix, self.flush_secs)
        return self._files[folder]

    def _add(self, content, step, walltime):
        self._file(self.log_dir).write(content, None if step is None else int(step), walltime)

    def get_logdir(self):
        """The folder of the event files."""
        return self.log_dir

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Add one number."""
        number = _number(scalar_value)
        if not new_style:
            content = e.single(2, number)
        else:  # a tensor of the type float (1) or double (2)
            tensor = e.integer(1, 2) + e.packed(6, "d", [number]) if double_precision else e.integer(1, 1) + e.packed(5, "f", [number])
            content = e.chunk(8, tensor) + e.plugin("scalars")
        self._add(e.value(tag, content), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Add several numbers to one chart; each has a run of its own."""
        for tag, number in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            self._file(folder).write(e.value(main_tag, e.single(2, _number(number))), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Add the distribution of `values`."""
        *facts, limits, buckets = _histogram(_array(values), bins, max_bins)
        fields = [e.double(field, float(fact)) for field, fact in enumerate(facts, 1)]
        content = e.chunk(5, *fields, e.packed(6, "d", limits), e.packed(7, "d", buckets))
        self._add(e.value(tag, content), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Add an image; floats run from 0 to 1."""
        self._add(e.value(tag, _image(_pixels(_array(img_tensor), dataformats))), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Add a batch of images as one grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Add a matplotlib figure, or a list of them, as an image."""
        figures = figure if isinstance(figure, list) else [figure]
        images = []
        for item in figures:
            item.canvas.draw()
            images.append(np.asarray(item.canvas.buffer_rgba())[..., :3])
            if close:
                import matplotlib.pyplot as plt

                plt.close(item)
        if isinstance(figure, list):
            self.add_image(tag, np.stack(images), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, images[0], global_step, walltime, "HWC")

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Add a text in Markdown."""
        tensor = e.integer(1, 7) + e.chunk(2, e.chunk(2, e.integer(1, 1))) + e.chunk(8, text_string)  # 7: strings
        self._add(e.value(tag + "/text_summary", e.chunk(8, tensor), e.plugin("text")), global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Add a set of hyperparameters with the metrics that they led to, as a run of its own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        if hparam_domain_discrete:
            raise NotImplementedError("hyperparameters without declared domains only: leave hparam_domain_discrete out")
        infos, values = b"", b""
        for name, item in hparam_dict.items():
            is_text = isinstance(item, str)
            infos += e.chunk(4, e.chunk(1, name), e.integer(4, 1 if is_text else 3))
            values += e.chunk(1, e.chunk(1, name), e.chunk(2, e.chunk(3, item) if is_text else e.double(2, _number(item))))
        infos += b"".join(e.chunk(5, e.chunk(1, e.chunk(2, name))) for name in metric_dict)
        records = ("experiment", e.chunk(2, infos)), ("session_start_info", e.chunk(3, values)), (
            "session_end_info", e.chunk(4, e.integer(1, 1)))  # fmt: skip
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as run:
            for tag, content in records:
                run._add(e.value("_hparams_/" + tag, e.plugin("hparams", content)), None, None)
            for name, number in metric_dict.items():
                run.add_scalar(name, number, global_step)

    def flush(self):
        """Write to disk what is held back."""
        for file in self._files.values():
            file.flush()

    def close(self):
        """Finish the files; a later call of an `add_` method opens new ones."""
        for file in self._files.values():
            file.close()
        self._files = {}

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


def _elsewhere(name):
    def method(self, *args, **kwargs):
        raise NotImplementedError(f"SummaryWriter.{name} is not in torchish; add_scalar, add_histogram, add_image, "
                                  "add_figure and add_text are")  # fmt: skip

    method.__name__ = name
    return method


for _name in """add_audio add_custom_scalars add_custom_scalars_marginchart add_custom_scalars_multilinechart add_embedding
        add_graph add_histogram_raw add_image_with_boxes add_mesh add_onnx_graph add_pr_curve add_pr_curve_raw add_tensor
        add_video""".split():
    setattr(SummaryWriter, _name, _elsewhere(_name))
