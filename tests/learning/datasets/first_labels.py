"""The labels by which each downloaded data set is known."""

FIRST = {
    "mnist": ([5, 0, 4, 1, 9], [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]),
    "fashion-mnist": ([9, 0, 0, 3, 0], [6000] * 10),
    "digits": ([1, 2, 3, 4, 6], [136, 154, 151, 135, 143, 143, 151, 153, 138, 133]),
}
