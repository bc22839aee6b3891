"""PyTorch's CPU random generator: the same numbers from the same seed, as numpy arrays.

numpy supplies the Mersenne twister's words; this file turns them into numbers in the way, and in the order,
of PyTorch's CPU kernels (those it uses on processors where it does not call Intel's MKL for Bernoulli).
"""

import math
import secrets

import numpy as np

_WORDS = 624
_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
# as PyTorch's messages name them; the wider floats only warn
_CPP_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
              "uint16": "short unsigned int", "uint32": "unsigned int", "int64": "long int", "float16": "c10::Half"}
_TWO_PI = 2.0 * math.pi
# from this range on PyTorch takes 64-bit draws, to keep the skew of `draw % range` small
_WIDE_RANGE = 1 << 28
# randperm's counterpart: the skew of a 32-bit draw stays below 1/20
_WIDE_PERMUTATION = ((1 << 32) - 1) // 20
_CHUNK = 1 << 14

_STATE = np.dtype({
    "names": ["seed", "left", "seeded", "next", "words", "normal", "normal_valid", "normal32", "normal32_valid"],
    "formats": ["<u8", "<i4", "<i4", "<u8", f"({_WORDS},)<u8", "<f8", "<i4", "<f4", "u1"],
    "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
    "itemsize": 5056,
})


def _np_dtype(dtype):
    return np.dtype(getattr(dtype, "np", dtype))


def _is_complex(dtype):
    return dtype.kind == "c"


def _real_part(dtype):
    return np.dtype(f"f{dtype.itemsize // 2}")


def _last(dtype):
    """The largest number of random_(): a float's are the integers below which it has no gaps."""
    if dtype == np.bool_:
        return 1
    digits = _DIGITS.get(dtype.name)
    return int(np.iinfo(dtype).max) if digits is None else 1 << digits


def _cast(values, dtype):
    """C++'s cast of doubles; the 16-bit floats are reached through float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.name in ("float16", "bfloat16"):
            values = values.astype(np.float32)
        return values.astype(dtype)


def _libm(function, values):
    """A C library function of every element: numpy's own vector versions differ from it in the last bit."""
    return np.fromiter(map(function, values.tolist()), np.float64, values.size)


def _fma64(a, b, c):
    """a * b + c rounded once, for doubles: Veltkamp's splitting and Knuth's two-sum."""
    if b == 1.0:
        return a + c
    split = a * 134217729.0
    ah = split - (split - a)
    bh = b * 134217729.0
    bh = bh - (bh - b)
    al, bl = a - ah, b - bh
    product = a * b
    low = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    total = product + c
    back = total - product
    return total + ((product - (total - back)) + (c - back) + low)


def _fma32(a, b, c):
    """a * b + c rounded once, for float32: the product is exact in double."""
    if np.ndim(b) == 0 and b == 1:
        return a + c
    return (np.multiply(a, b, dtype=np.float64) + c).astype(np.float32)


def _horner32(coefficients, x):
    first, *rest = [np.float32(c) for c in coefficients]
    for c in rest:
        first = _fma32(first, x, c)
    return first


_LOG = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_PI_4 = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


def _log32(x):
    """Cephes' float32 logarithm of x in (0, 1], fused as in PyTorch's vector code."""
    fraction, exponent = np.frexp(x)
    small = fraction < np.float32(0.707106781186547524)
    e = (exponent - small).astype(np.float32)
    x = np.where(small, fraction - np.float32(1) + fraction, fraction - np.float32(1))
    z = x * x
    y = _fma32(_horner32(_LOG, x) * x, z, e * np.float32(-2.12194440e-4))
    y -= z * np.float32(0.5)
    return _fma32(e, np.float32(0.693359375), x + y)


def _sincos32(x):
    """Cephes' float32 sine and cosine of x >= 0, fused as in PyTorch's vector code."""
    octant = ((x * np.float32(1.27323954473516)).astype(np.int32) + 1) & ~1
    y = octant.astype(np.float32)
    for part in _PI_4:
        x = _fma32(y, np.float32(part), x)
    z = x * x
    cos = _fma32(_horner32(_COS, z) * z, z, z * np.float32(-0.5)) + np.float32(1)
    sin = _fma32(_horner32(_SIN, z) * z, x, x)
    swap = (octant & 2) != 0
    s, c = np.where(swap, cos, sin), np.where(swap, sin, cos)
    return (np.where(octant & 4, -s, s), np.where((octant - 2) & 4, c, -c))


def _box_muller32(u, mean, std):
    """Normals from blocks of 16 uniforms: eight radii, then eight angles."""
    out = np.empty_like(u)
    for start in range(0, len(u), _CHUNK):
        block = u[start:start + _CHUNK]
        radius = np.sqrt(np.float32(-2) * _log32(np.float32(1) - block[:, :8]))
        sin, cos = _sincos32(np.float32(_TWO_PI) * block[:, 8:])
        out[start:start + _CHUNK, :8] = _fma32(radius * cos, std, mean)
        out[start:start + _CHUNK, 8:] = _fma32(radius * sin, std, mean)
    return out


def _box_muller64(u, mean, std):
    radius = np.sqrt(-2.0 * _libm(math.log, 1.0 - u[:, :8].ravel()))
    theta = _TWO_PI * u[:, 8:].ravel()
    halves = [_fma64(radius * _libm(f, theta), std, mean).reshape(-1, 8) for f in (math.cos, math.sin)]
    return np.concatenate(halves, axis=1)


class MT19937:
    """A stream of random numbers equal to that of PyTorch's CPU generator."""

    def __init__(self, seed=67280421310721):
        self._bits = np.random.MT19937()
        self.manual_seed(seed)

    # -- seed and state

    def manual_seed(self, seed):
        """Start the stream that belongs to `seed`; negative seeds count from 2**64 downwards."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % (1 << 64)
        self._bits._legacy_seeding(self._seed & 0xFFFFFFFF)
        self._untouched = True
        self._cached = None
        return self

    def seed(self):
        """Start a stream from a seed of the operating system and return that seed."""
        seed = secrets.randbits(64)
        self.manual_seed(seed)
        return seed

    def initial_seed(self):
        """The seed the present stream was started from."""
        return self._seed

    def get_state(self):
        """The state as a uint8 vector, byte for byte PyTorch's."""
        twister = self._bits.state["state"]
        out = np.zeros((), _STATE)
        out["seed"], out["seeded"], out["words"] = self._seed, 1, twister["key"]
        out["left"] = _WORDS + 1 - twister["pos"]
        # PyTorch counts from 0 before the first draw, though all words are used up
        out["next"] = 0 if self._untouched else twister["pos"]
        if self._cached is not None:
            out["normal"], out["normal_valid"] = self._cached, 1
        return out.reshape(1).view(np.uint8)

    def set_state(self, state):
        """Go on from a state made by `get_state` here or by PyTorch."""
        state = np.ascontiguousarray(state)
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != _STATE.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG "
                               f"state size to be {state.size}")
        record = state.reshape(-1).view(_STATE)[0]
        left, position = int(record["left"]), int(record["next"])
        if record["seeded"] != 1 or not 0 < left <= _WORDS or position > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        self._untouched = left == 1 and position == 0
        self._seed = int(record["seed"])
        self._bits.state = {"bit_generator": "MT19937", "state": {
            "key": record["words"].astype(np.uint32), "pos": _WORDS if left == 1 else position}}
        self._cached = float(record["normal"]) if record["normal_valid"] else None
        return self

    # -- draws

    def _draw32(self, n):
        if n:
            self._untouched = False
        return self._bits.random_raw(n)

    def _draw64(self, n):
        words = self._draw32(2 * n)
        return (words[0::2] << np.uint64(32)) | words[1::2]

    def _unit32(self, n):
        return (self._draw32(n) & np.uint64(0xFFFFFF)).astype(np.float32) * np.float32(2.0 ** -24)

    def _unit64(self, n):
        return (self._draw64(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0 ** -53

    # -- continuous distributions

    def uniform(self, n, dtype, lo=0.0, hi=1.0):
        """`n` numbers of rand or uniform_(lo, hi)."""
        dtype = _np_dtype(dtype)
        if _is_complex(dtype):
            return self.uniform(2 * n, _real_part(dtype), lo, hi).view(dtype)
        if lo > hi:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={lo:g} > to={hi:g}")
        if dtype == np.float64:
            return _fma64(self._unit64(n), hi - lo, lo)
        low, high = np.float32(lo), np.float32(hi)
        out = _fma32(self._unit32(n), high - low, low).astype(dtype)
        # rounding to a short float may reach the excluded end
        return out if dtype == np.float32 else np.where(out >= high.astype(dtype), low.astype(dtype), out)

    def normal(self, n, dtype, mean=0.0, std=1.0, contiguous=True):
        """`n` numbers of randn or normal_(mean, std); the result's layout decides how they are made."""
        dtype = _np_dtype(dtype)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if _is_complex(dtype):
            return self.normal(2 * n, _real_part(dtype), mean, std / math.sqrt(2.0), contiguous).view(dtype)
        if n < 16 or not contiguous:
            return _cast(_fma64(self._normal_stream(n), std, mean), dtype)
        if dtype == np.float64:
            unit, box_muller = self._unit64, _box_muller64
        else:
            unit, box_muller, mean, std = self._unit32, _box_muller32, np.float32(mean), np.float32(std)
        whole = n - n % 16
        # the wide dtypes fill the whole vector first, so the rest takes draws as well; the last 16 are drawn anew
        u = unit(n if dtype.itemsize >= 4 else whole)[:whole]
        if n % 16:
            u = np.concatenate([u, unit(16)])
        out = box_muller(u.reshape(-1, 16), mean, std).ravel()
        if n % 16:
            out = np.concatenate([out[:n - 16], out[-16:]])
        return out.astype(dtype, copy=False)

    def _normal_stream(self, n):
        """`n` standard normals one by one; an unused second half of a pair is kept for the next call."""
        out = np.empty(n, np.float64)
        have = min(n, int(self._cached is not None))
        if have:
            out[0], self._cached = self._cached, None
        pairs = (n - have + 1) // 2
        u = self._unit64(2 * pairs)
        radius, theta = np.sqrt(-2.0 * _libm(math.log1p, -u[1::2])), _TWO_PI * u[0::2]
        both = np.stack([radius * _libm(math.cos, theta), radius * _libm(math.sin, theta)], axis=1).ravel()
        out[have:] = both[:n - have]
        if both.size > n - have:
            self._cached = float(both[-1])
        return out

    def log_normal(self, n, dtype, mean=1.0, std=2.0):
        """`n` numbers of log_normal_."""
        if not std > 0.0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        return _cast(_libm(math.exp, _fma64(self._normal_stream(n), std, mean)), _np_dtype(dtype))

    def exponential(self, n, dtype, lambd=1.0):
        """`n` numbers of exponential_."""
        if not lambd > 0.0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        return _cast(-1.0 / lambd * _libm(math.log1p, -self._unit64(n)), _np_dtype(dtype))

    def cauchy(self, n, dtype, median=0.0, sigma=1.0):
        """`n` numbers of cauchy_."""
        if not sigma > 0.0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        tangent = _libm(math.tan, math.pi * (self._unit64(n) - 0.5))
        return _cast(_fma64(tangent, sigma, median), _np_dtype(dtype))

    # -- discrete distributions

    def geometric(self, n, dtype, p):
        """`n` numbers of geometric_."""
        if not 0.0 < p < 1.0:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        return _cast(np.ceil(_libm(math.log, self._unit64(n)) / math.log1p(-p)), _np_dtype(dtype))

    def bernoulli(self, p, n=None, dtype=None):
        """Zeros and ones: `n` of them with one probability, or one for each element of an array `p`."""
        if np.ndim(p) == 0 and n is not None:
            if not 0 <= p <= 1:
                raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
            return (self._unit64(n) < p).astype(_np_dtype(dtype))
        p = np.asarray(p)
        if not np.all((p >= 0) & (p <= 1)):
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        u = self._unit64(p.size) if p.dtype == np.float64 else self._unit32(p.size)
        return (u.reshape(p.shape) < p.astype(u.dtype)).astype(p.dtype if dtype is None else _np_dtype(dtype))

    def random_(self, n, dtype):
        """`n` numbers of random_(): all non-negative integers of the dtype, or those a float holds exactly."""
        dtype = _np_dtype(dtype)
        if dtype.name in ("uint16", "uint32", "uint64"):
            raise NotImplementedError(f""""random_kernel_cpu" not implemented for 'UInt{8 * dtype.itemsize}'""")
        draws = self._draw64(n) if dtype.name in ("int64", "float64") else self._draw32(n)
        return _cast(draws % np.uint64(_last(dtype) + 1), dtype)

    def random_from_to(self, n, dtype, lo, hi):
        """`n` integers of random_(lo, hi), lo <= x < hi; hi None means up to the dtype's last."""
        dtype = _np_dtype(dtype)
        if hi is None:
            hi = 1 << 63 if lo == -1 << 63 else _last(dtype) + 1
        if lo >= hi:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={lo} >= to={hi}")
        if dtype.name in _CPP_NAMES:
            last = 65504 if dtype == np.float16 else _last(dtype)
            first = 0 if dtype.kind in "ub" else -last if dtype == np.float16 else -last - 1
            for what, bound in (("from", lo), ("to - 1", hi - 1)):
                if not first <= bound <= last:
                    raise RuntimeError(f"{what} is out of bounds for {_CPP_NAMES[dtype.name]}")
        span = hi - lo
        draws = self._draw64(n) if span >= _WIDE_RANGE else self._draw32(n)
        if span < 1 << 64:
            draws %= np.uint64(span)
        return _cast((draws + np.uint64(lo % (1 << 64))).view(np.int64), dtype)

    def randint(self, lo, hi, n, dtype=np.int64):
        """`n` integers of torch.randint(lo, hi)."""
        return self.random_from_to(n, dtype, lo, hi)

    def randperm(self, n):
        """torch.randperm(n) as int64; every swap depends on those before it, so this one is a loop."""
        draw = self._draw32 if n < _WIDE_PERMUTATION else self._draw64
        remaining = np.arange(n, 1, -1, dtype=np.uint64)
        out = list(range(n))
        for i, j in enumerate((draw(max(n - 1, 0)) % remaining).tolist()):
            j += i
            out[i], out[j] = out[j], out[i]
        return np.array(out, np.int64)

    def multinomial(self, probabilities, num_samples, replacement=False):
        """torch.multinomial over the last axis of a vector or matrix of weights."""
        p = np.asarray(probabilities)
        if p.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > p.shape[-1]:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        racing = not replacement or num_samples == 1
        if racing and not np.all((p >= 0) & np.isfinite(p)):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not np.all(p >= 0):
            raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
        if not np.all(np.isfinite(p)):
            raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
        if not np.all(np.any(p > 0, axis=-1)):
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        if racing:
            # the largest p / exponential are a draw without replacement; equal ones (frequent in the 16-bit floats)
            # come in order here, in the order of its sort in PyTorch
            race = self.exponential(p.size, p.dtype).reshape(p.shape)
            with np.errstate(over="ignore", divide="ignore"):
                order = np.argsort(-(p / race), axis=-1, kind="stable")
            return order[..., :num_samples].astype(np.int64)
        rows = p.reshape(-1, p.shape[-1])
        cumulated = np.cumsum(rows, axis=1, dtype=p.dtype if p.dtype.itemsize >= 4 else np.float32)
        cumulated /= cumulated[:, -1:]
        cumulated[:, -1] = 1
        u = self._unit64(len(rows) * num_samples).reshape(-1, num_samples)
        rows = cumulated.astype(np.float64)
        out = np.stack([np.searchsorted(row, draws) for row, draws in zip(rows, u, strict=True)])
        return out.reshape(*p.shape[:-1], num_samples)
