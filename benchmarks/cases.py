"""The benchmark's computations: `steps_of(case, torch)` in torch style, `jax_steps_of(case)` by hand in JAX.

Both give a function `steps(n)` that trains n steps and returns the last loss as a float.
"""

import functools

POINTS = {"oscillator": 30, "burgers": 10_000, "third": 1_000, "fourth": 1_000, "classifier": 128}
SIZES = {
    "oscillator": [1, 32, 32, 32, 1],
    "burgers": [2] + [20] * 8 + [1],
    "third": [1] + [64] * 4 + [1],
    "fourth": [1] + [64] * 4 + [1],
    "classifier": [784, 256, 256, 10],
}
ORDER = {"oscillator": 2, "third": 3, "fourth": 4}


def steps_of(case, torch):
    """The training loop as a PyTorch user writes it."""
    nn = torch.nn
    torch.manual_seed(0)
    sizes = SIZES[case]
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU() if case == "classifier" else nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.rand(POINTS[case], sizes[0])
    labels = torch.randint(0, 10, (POINTS[case],))
    start = torch.zeros(1, 1, requires_grad=True)

    def d(y, x):
        return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]

    def loss_of():
        if case == "classifier":
            return nn.functional.cross_entropy(model(x), labels)
        u = model(x)
        if case == "burgers":
            du = d(u, x)
            u_x, u_t = du[:, 0:1], du[:, 1:2]
            u_xx = d(u_x, x)[:, 0:1]
            return torch.mean((u_t + u * u_x - 0.01 * u_xx) ** 2)
        derivatives = [u]
        for _ in range(ORDER[case]):
            derivatives.append(d(derivatives[-1], x))
        if case == "oscillator":
            u0 = model(start)
            loss = (torch.squeeze(u0) - 1) ** 2 + 0.1 * torch.squeeze(d(u0, start)) ** 2
            return loss + 1e-4 * torch.mean((derivatives[2] + 4 * derivatives[1] + 400 * u) ** 2)
        return torch.mean((derivatives[-1] + u) ** 2)

    if case != "classifier":
        x.requires_grad_(True)

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            loss = loss_of()
            loss.backward()
            optimizer.step()
        return loss.item()

    return steps


def jax_steps_of(case):
    """The same training step by hand: one `jax.jit`, reverse mode throughout, as the script above computes it."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(0)
    sizes = SIZES[case]
    params = []
    for fan_in, fan_out in zip(sizes, sizes[1:], strict=False):
        bound = fan_in**-0.5
        params.append((rng.uniform(-bound, bound, (fan_out, fan_in)), rng.uniform(-bound, bound, fan_out)))
    params = jax.tree.map(functools.partial(jnp.asarray, dtype=jnp.float32), params)
    x = jnp.asarray(rng.random((POINTS[case], sizes[0])), dtype=jnp.float32)
    labels = jnp.asarray(rng.integers(0, 10, POINTS[case]))
    activation = jax.nn.relu if case == "classifier" else jnp.tanh

    def model(params, x):
        for w, b in params[:-1]:
            x = activation(x @ w.T + b)
        w, b = params[-1]
        return x @ w.T + b

    def d(f):
        """x -> df/dx, row by row of a batch, by one reverse pass over the sum."""
        return jax.grad(lambda x: f(x).sum())

    def loss_of(params):
        def u(x):
            return model(params, x)

        if case == "classifier":
            return -jnp.take_along_axis(jax.nn.log_softmax(u(x)), labels[:, None], 1).mean()
        if case == "burgers":
            du = d(u)
            u_xx = d(lambda x: du(x)[:, 0])(x)[:, 0:1]
            first = du(x)
            return jnp.mean((first[:, 1:2] + u(x) * first[:, 0:1] - 0.01 * u_xx) ** 2)
        derivatives = [u]
        for _ in range(ORDER[case]):
            derivatives.append(d(derivatives[-1]))
        if case == "oscillator":
            start = jnp.zeros((1, 1))
            loss = (u(start).squeeze() - 1) ** 2 + 0.1 * derivatives[1](start).squeeze() ** 2
            return loss + 1e-4 * jnp.mean((derivatives[2](x) + 4 * derivatives[1](x) + 400 * u(x)) ** 2)
        return jnp.mean((derivatives[-1](x) + u(x)) ** 2)

    def step(params, m, v, t):
        loss, grads = jax.value_and_grad(loss_of)(params)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        rate = 1e-3 / (1 - 0.9**t)
        root = (1 - 0.999**t) ** 0.5
        params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) / root + 1e-8), params, m, v)
        return params, m, v, t + 1, loss

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    zeros = functools.partial(jax.tree.map, jnp.zeros_like)
    state = [params, zeros(params), zeros(params), jnp.float32(1)]

    def steps(n):
        for _ in range(n):
            *state[:], loss = compiled(*state)
        return float(loss)

    return steps


def ops_of(torch):
    """Chains of small operations with gradient; `steps(n)` runs n operations."""
    x = torch.ones(4, requires_grad=True)

    def steps(n):
        for _ in range(n // 100):
            y = x
            for _ in range(50):
                y = torch.sin(y) * x
            last = y.sum().item()
        return last

    return steps
