"""Rank customer features by how well each one alone tracks churn."""
import numpy as np

CUSTOMERS = 150_000
FEATURES = 48


def generate(rng):
    base = rng.standard_normal(CUSTOMERS)
    for j in range(FEATURES):
        noise = rng.random(CUSTOMERS) - 0.5
        yield f"f{j:02d}", base * (j % 7) * 0.05 + noise


def load_table(rng):
    names, table = [], np.empty((CUSTOMERS, FEATURES))
    for j, (name, values) in enumerate(generate(rng)):
        names.append(name)
        table[:, j] = values
    churn = (table.sum(axis=1) + rng.standard_normal(CUSTOMERS) > 1.0).astype(np.float64)
    return names, table, churn


class Screen:
    def __init__(self, names, table, churn):
        self.names = names
        self.table = table
        self.churn = churn
        self.votes = np.zeros(len(names), dtype=np.int64)

    def column(self, j):
        return self.table[:, j]

    def strength(self, j, weights, marked):
        values = self.column(j)
        centre = (values * weights).sum()
        spread = (values * values * weights).sum() - centre * centre
        cross = (values * marked).sum()
        return (cross - centre * marked.sum()) / np.sqrt(spread)

    def fold(self, weights, keep):
        marked = weights * self.churn
        scores = np.array([abs(self.strength(j, weights, marked))
                           for j in range(len(self.names))])
        best = np.argsort(scores)[::-1][:keep]
        self.votes[best] += 1
        return scores


def bayesian_weights(rng, draws):
    for _ in range(draws):
        weights = rng.standard_exponential(CUSTOMERS)
        yield weights / weights.sum()


def report(screen, history):
    order = np.lexsort((-history.mean(axis=0), -screen.votes))
    for j in order[:5]:
        print(f"{screen.names[j]} votes {screen.votes[j]:3d} score {history[:, j].mean():.5f}")


def main():
    rng = np.random.default_rng(12)
    names, table, churn = load_table(rng)
    screen = Screen(names, table, churn)
    history = np.array([screen.fold(w, keep=12) for w in bayesian_weights(rng, 18)])
    report(screen, history)


if __name__ == "__main__":
    main()
