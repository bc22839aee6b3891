"""dtype objects and PyTorch's promotion lattice."""

import ml_dtypes
import numpy as np

_CATEGORY = {"bool": 0, "int": 1, "float": 2, "complex": 3}


class dtype:
    """An interned PyTorch dtype; `np` is the numpy dtype that JAX computes in."""

    __slots__ = ("name", "np", "category", "itemsize", "is_floating_point", "is_complex", "is_signed", "legacy")

    def __init__(self, name, np_dtype, category, legacy):
        self.name, self.np, self.legacy = name, np.dtype(np_dtype), legacy
        self.category = _CATEGORY[category]
        self.itemsize = self.np.itemsize
        self.is_floating_point = category == "float"
        self.is_complex = category == "complex"
        self.is_signed = category in ("float", "complex") or (category == "int" and self.np.kind != "u")

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def held(self):
        """This dtype, if torchish has tensors of it."""
        return self

    def to_real(self):
        return {complex64: float32, complex128: float64, ALIASES["chalf"]: float16}.get(self, self)

    def to_complex(self):
        made = {float16: ALIASES["chalf"], float32: complex64, float64: complex128, bfloat16: complex64}.get(self)
        if made is None and not self.is_complex:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        return made or self

    @property
    def abbr(self):
        """A short name: f32, i64, b8."""
        if self.name.startswith(("float8_", "float4_")):
            return "f" + self.name.removeprefix("float").replace("_", "")
        if self.name.startswith("bits"):
            return "b" + self.name[4:] + ("" if "x" in self.name else "x1")
        kind = self.name.rstrip("0123456789")
        short = {"int": "i", "uint": "u", "float": "f", "bfloat": "bf", "complex": "c", "bool": "b8"}.get(kind)
        return self.name if short is None or self.itemsize == 1 and self.name[-1] != "8" and short != "b8" else short + self.name[len(kind):]


class Unheld(dtype):
    """A dtype that PyTorch names and torchish has no tensors of: using it raises, saying what to take instead."""

    __slots__ = ("_signed", "_instead")

    def __init__(self, name, category, legacy, itemsize, signed, instead):
        self.name, self.category, self.legacy, self.itemsize = name, _CATEGORY[category], legacy, itemsize
        self.is_floating_point, self.is_complex = category == "float", category == "complex"
        self._signed, self._instead = signed, instead

    @property
    def is_signed(self):
        if isinstance(self._signed, str):
            raise RuntimeError(self._signed)
        return self._signed

    def held(self):
        raise NotImplementedError(f"torchish has no tensors of {self!r}; use {self._instead}")

    np = property(held)


uint8 = dtype("uint8", "uint8", "int", "Byte")
int8 = dtype("int8", "int8", "int", "Char")
int16 = dtype("int16", "int16", "int", "Short")
int32 = dtype("int32", "int32", "int", "Int")
int64 = dtype("int64", "int64", "int", "Long")
uint16 = dtype("uint16", "uint16", "int", "UInt16")
uint32 = dtype("uint32", "uint32", "int", "UInt32")
uint64 = dtype("uint64", "uint64", "int", "UInt64")
float16 = dtype("float16", "float16", "float", "Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "float", "BFloat16")
float32 = dtype("float32", "float32", "float", "Float")
float64 = dtype("float64", "float64", "float", "Double")
complex64 = dtype("complex64", "complex64", "complex", "ComplexFloat")
complex128 = dtype("complex128", "complex128", "complex", "ComplexDouble")
bool = dtype("bool", "bool", "bool", "Bool")

EIGHT_BITS = tuple(dtype(name, getattr(ml_dtypes, name), "float", name.capitalize()) for name in (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"))

ALL = (uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64,
       complex64, complex128, bool, *EIGHT_BITS)

_BITS, _QUANTIZED = "Bits types are undefined", "isSignedType not supported for quantized types"
UNHELD = (
    Unheld("complex32", "complex", "ComplexHalf", 4, True, "torch.complex64"),
    Unheld("float4_e2m1fn_x2", "float", "Float4_e2m1fn_x2", 1, True, "torch.float8_e4m3fn"),
    *(Unheld(f"int{n}", "int", f"Int{n}", 1, True, "torch.int8") for n in range(1, 8)),
    *(Unheld(f"uint{n}", "int", f"UInt{n}", 1, False, "torch.uint8") for n in range(1, 8)),
    *(Unheld(name, "int", name.capitalize(), 1, _BITS, "torch.uint8") for name in ("bits1x8", "bits2x4", "bits4x2", "bits8")),
    Unheld("bits16", "int", "Bits16", 2, _BITS, "torch.uint16"),
    *(Unheld(name, "int", legacy, size, _QUANTIZED, "a floating-point dtype") for name, legacy, size in (
        ("quint8", "QUInt8", 1), ("qint8", "QInt8", 1), ("qint32", "QInt32", 4), ("quint4x2", "QUInt4x2", 1), ("quint2x4", "QUInt2x4", 1))))

ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
           "cfloat": complex64, "cdouble": complex128}
ALIASES |= {alias: d for d in UNHELD for alias, name in (("chalf", "complex32"), ("bit", "uint1")) if d.name == name}
FROM_NP = {d.np: d for d in ALL}
BY_NAME = {d.name: d for d in ALL}

PYTHON = {int: int64, float: float64, complex: complex128, True.__class__: bool}


def given(d, function, argument="'dtype'"):
    """The dtype that an argument gives: Python's int, float, bool and complex stand for int64, float64, bool, complex128."""
    if isinstance(d, dtype) or d is None:
        return d
    made = PYTHON.get(d) if isinstance(d, type) else None
    if made is None:
        raise TypeError(f"{function}(): argument {argument} must be torch.dtype, not {type(d).__name__}")
    return made


_default = float32


def get_default():
    return _default


def set_default(d):
    global _default
    _default = d


def of(x):
    """The torch dtype of anything with a numpy dtype."""
    return FROM_NP[np.dtype(x.dtype)]


_INTS = {8: int8, 16: int16, 32: int32, 64: int64}


def promote_types(a, b):
    """torch.promote_types: the lattice of two dtypes of dimensioned tensors."""
    if a is b:
        return a
    if a in EIGHT_BITS or b in EIGHT_BITS:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.legacy} and {b.legacy}")
    if a.category != b.category:
        lo, hi = (a, b) if a.category < b.category else (b, a)
        if hi.category == 3 and lo is float64:
            return complex128
        return hi
    if a.category == 1:
        ua, ub = a.np.kind == "u", b.np.kind == "u"
        if ua == ub:
            return a if a.itemsize >= b.itemsize else b
        unsigned, signed = (a, b) if ua else (b, a)
        if unsigned is not uint8:
            raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                               f"{a.legacy} and {b.legacy}")
        return int16 if signed is int8 else signed
    if {a, b} == {float16, bfloat16}:
        return float32
    return a if a.itemsize >= b.itemsize else b


def number_dtype(x):
    """The dtype a Python number counts as: bool, int64, the default float or its complex partner."""
    if isinstance(x, (_builtin_bool, np.bool_)):
        return bool
    if isinstance(x, (int, np.integer)):
        return int64
    if isinstance(x, (complex, np.complexfloating)):
        return _default.to_complex()
    return _default


_builtin_bool = (True).__class__


def _complex_of(d):
    if d is float16:
        raise NotImplementedError("PyTorch gives torch.complex32 here, which torchish does not have; convert the float16 tensor "
                                  "with .float() first")
    return d.to_complex()


def result_type(operands):
    """PyTorch's rule over (dtype, kind) pairs, kind 2 = dimensioned tensor, 1 = 0-dim tensor, 0 = number.

    A lower kind takes part only when its category is higher than all kinds above it.
    """
    best = [None, None, None]
    for d, kind in operands:
        best[kind] = d if best[kind] is None else promote_types(best[kind], d)
    out = best[2]
    for kind in (1, 0):
        d = best[kind]
        if d is None:
            continue
        if out is None:
            out = d
        elif d.category > out.category:
            # a complex number or 0-dim tensor over a float keeps the float's width
            out = _complex_of(out) if out.category == 2 else d
    return out
