"""Frames with a few wrong bytes."""


def mutate(frame, dice):
    data = bytearray(frame)
    for _ in range(dice.choice([0, 1, 1, 3])):
        if data:
            data[dice.randrange(len(data))] = dice.randrange(256)
    if dice.random() < 0.1:
        del data[dice.randrange(len(data) + 1) :]
    if dice.random() < 0.05:
        data += dice.randbytes(dice.randrange(8))
    return bytes(data)
