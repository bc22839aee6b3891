"""torch.utils.tensorboard: what the event files hold, read back by a small decoder."""

import importlib
import struct
import zlib

import numpy as np
import pytest


@pytest.fixture
def writer(torch, backend, tmp_path):
    if backend == "torch":
        pytest.importorskip("tensorboard", reason="PyTorch's SummaryWriter needs the tensorboard package")
    return importlib.import_module(torch.__name__ + ".utils.tensorboard").SummaryWriter(str(tmp_path))


def fields(data):
    """A message as a list of (field, value); messages within stay bytes."""
    out, at = [], 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            item = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            item, at = data[at : at + size], at + size
            item = struct.unpack("<d" if key & 7 == 1 else "<f", item)[0] if key & 7 in (1, 5) else item
        out.append((key >> 3, item))
    return out


def events(folder):
    """The (step, tag, {field: value}) of each summary in the folder's event files."""
    out = []
    for path in sorted(folder.glob("*tfevents*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack("<Q", data[at : at + 8])
            event = dict(fields(data[at + 12 : at + 12 + size]))
            at += size + 16
            if 5 in event:
                content = dict(fields(dict(fields(event[5]))[1]))
                out.append((event.get(2, 0), content.pop(1).decode(), content))
    return out


def pixels(png):
    """The bytes of an unfiltered or filtered 8-bit PNG, row by row."""
    at, data = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IHDR":
            width, height = struct.unpack(">II", png[at + 8 : at + 16])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + 3 * width)
    out, above = [], np.zeros(3 * width, np.uint8)
    for kind, row in zip(rows[:, 0], rows[:, 1:].copy(), strict=True):
        for i in range(len(row)):
            left, up, corner = (int(row[i - 3]) if i > 2 else 0), int(above[i]), (int(above[i - 3]) if i > 2 else 0)
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            row[i] = (int(row[i]) + (0, left, up, (left + up) // 2, paeth)[kind]) % 256
        out.append(row)
        above = row
    return np.stack(out).reshape(height, width, 3)


def test_scalars(torch, writer, tmp_path):
    with writer as w:
        w.add_scalar("loss/train", torch.tensor(2.5, requires_grad=True), 7)
        w.add_scalar("lr", 0.5)
        w.add_scalar("new", 1.5, 2, new_style=True)
        w.add_scalars("m/x", {"p": 1.0, "q": 2}, 1)
        w.add_text("note", "hello", 4)
    got = events(tmp_path)
    assert got[:2] == [(7, "loss/train", {2: 2.5}), (0, "lr", {2: 0.5})]
    assert dict(fields(got[2][2][8])) == {1: 1, 5: struct.pack("<f", 1.5)}
    assert got[3][:2] == (4, "note/text_summary")
    assert dict(fields(got[3][2][8]))[8] == b"hello"
    assert events(tmp_path / "m_x_p") == [(1, "m/x", {2: 1.0})]
    assert events(tmp_path / "m_x_q") == [(1, "m/x", {2: 2.0})]


def test_histogram(torch, writer, tmp_path):
    writer.add_histogram("edges", torch.arange(10.0), 2, bins=4)
    writer.add_histogram("usual", torch.tensor([-1.0, 0.0, 0.5, 0.5, 100.0]), 3)
    writer.close()
    (_, _, four), (_, _, usual) = events(tmp_path)
    facts = dict(fields(four[5]))
    assert [facts.get(i, 0.0) for i in range(1, 6)] == [0, 9, 10, 45, 285]
    assert struct.unpack("<5d", facts[6]) == (0, 2.25, 4.5, 6.75, 9)
    assert struct.unpack("<5d", facts[7]) == (0, 3, 2, 2, 3)
    facts = dict(fields(usual[5]))
    counts = np.frombuffer(facts[7])
    assert counts.sum() == 5 and counts[0] == 0 and counts[1] == 1 and counts[-1] == 1
    assert np.frombuffer(facts[6])[0] == pytest.approx(-1.0089710279437536)
    with pytest.raises(ValueError, match="The input has no element"):
        writer.add_histogram("none", torch.tensor([]))


def test_images(torch, writer, tmp_path):
    one = torch.linspace(0, 1.2, 12).reshape(3, 2, 2)
    many = torch.arange(9 * 1 * 2 * 3, dtype=torch.uint8).reshape(9, 1, 2, 3)
    writer.add_image("one", one)
    writer.add_images("many", many)
    writer.add_image("flat", np.arange(4, dtype="uint8").reshape(2, 2), dataformats="HW")
    writer.close()
    images = [dict(fields(content[4])) for _, _, content in events(tmp_path)]
    assert [(i[1], i[2], i[3]) for i in images] == [(2, 2, 3), (4, 24, 3), (2, 2, 3)]
    want = (one.numpy() * 255).clip(0, 255).astype(np.uint8).transpose(1, 2, 0)
    assert (pixels(images[0][4]) == want).all()
    grid = pixels(images[1][4])
    assert (grid[2:, :3, 0] == many[8, 0].numpy()).all() and not grid[2:, 3:].any()
    assert (pixels(images[2][4])[..., 1] == np.arange(4).reshape(2, 2)).all()
    with pytest.raises(AssertionError, match="size of input tensor and input format are different"):
        writer.add_image("x", torch.ones(2, 2))


def test_hyperparameters(torch, writer, tmp_path):
    with writer as w:
        w.add_hparams({"lr": 0.1, "name": "adam"}, {"acc": 0.5}, run_name="run")
    got = events(tmp_path / "run")
    assert [tag for _, tag, _ in got] == ["_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "acc"]
    assert got[3][2] == {2: 0.5}
    content = dict(fields(dict(fields(dict(fields(got[1][2][9]))[1]))[2]))[3]
    pairs = [dict(fields(pair)) for _, pair in fields(content)]
    assert sorted((pair[1], *fields(pair[2])) for pair in pairs) == [(b"lr", (2, 0.1)), (b"name", (3, b"adam"))]
