"""The fit of a link's set-up and pace."""

from random import Random

import msgspec
import numpy as np
import pytest

from emulator.core.scheduling import link_fit
from emulator.core.scheduling.link_fit import Transfer
from emulator.core.scheduling.prior_costs import LinkEstimate, least_pace, through
from emulator.units import Rate, Seconds
from emulator.world.links.link import FRAME, Side
from emulator.world.links.link_steps import LinkStep

LINK = LinkEstimate(setup=0.01, pace=1e-6, delay=0.05)
WRONG = LinkEstimate(setup=1.0, pace=1.0, delay=0.05)


def fit(found: list[Transfer], before: LinkEstimate) -> LinkEstimate:
    return link_fit.fit(np.array(found, np.float64).reshape(-1, 3), before)


def transfers(messages: int, *sizes: int, link: LinkEstimate = LINK) -> list[Transfer]:
    """Return groups of so many messages, with the exact times of `link`."""
    return [Transfer(messages, n, messages * link.setup + n * link.pace) for n in sizes]


def approximates(found: LinkEstimate, known: LinkEstimate, share: float = 1e-9) -> None:
    assert found.setup == pytest.approx(known.setup, rel=share)
    assert found.pace == pytest.approx(known.pace, rel=share)
    assert found.delay == known.delay


def test_exact_times_give_the_exact_link() -> None:
    approximates(fit(transfers(1, 1000, 50_000), WRONG), LINK)
    approximates(fit(transfers(3, 4000, 90_000) + transfers(1, 7000), WRONG), LINK)


def test_groups_of_equal_sizes_keep_the_setup_of_before() -> None:
    before = msgspec.structs.replace(LINK, pace=0.5)
    approximates(fit(transfers(1, 50_000, 51_000), before), LINK)


def test_a_quarter_of_the_times_may_be_wrong() -> None:
    rng = Random("tests/link-fit")
    for _ in range(50):
        found = transfers(1, *(rng.randrange(1000, 100_000) for _ in range(40)))
        for number in rng.sample(range(40), 10):
            found[number] = found[number]._replace(seconds=rng.choice([0.0, 5.0, 100.0]))
        estimate = fit(found, WRONG)
        approximates(estimate, LINK, 1e-6)


def test_jitter_moves_the_fit_by_little() -> None:
    rng = Random("tests/link-fit/jitter")
    found = [
        t._replace(seconds=t.seconds * rng.gauss(1.0, 0.05))
        for t in transfers(1, *[2000, 20_000, 60_000, 200_000] * 20)
    ]
    approximates(fit(found, WRONG), LINK, 0.1)


@pytest.mark.parametrize("apart", [0.1, 0.12, 0.15, 0.2])
@pytest.mark.parametrize("law", ["gauss", "expovariate"])
def test_jitter_of_messages_of_like_sizes_leaves_the_setup_as_it_was(
    apart: float, law: str
) -> None:
    rng = Random(f"tests/link-fit/{law}/{apart}")
    sizes = [200_000, round(200_000 * (1 - apart))] * 64
    for _ in range(20):
        late = [rng.gauss(0, 0.01) if law == "gauss" else rng.expovariate(100) for _ in sizes]
        found = fit(
            [
                t._replace(seconds=t.seconds + by)
                for t, by in zip(transfers(1, *sizes), late, strict=True)
            ],
            LINK,
        )
        assert found.setup == LINK.setup
        # the median of the exponential law is 7 ms
        took = found.setup + found.pace * 200_000
        assert took == pytest.approx(0.21, abs=0.005 if law == "gauss" else 0.012)


def test_a_setup_that_has_changed_shows_in_spite_of_jitter() -> None:
    rng = Random("tests/link-fit/changed")
    link = msgspec.structs.replace(LINK, setup=0.03)
    found = transfers(1, *[20_000, 200_000] * 64, link=link)
    estimate = fit([t._replace(seconds=t.seconds + rng.gauss(0, 0.01)) for t in found], LINK)
    assert estimate.setup == pytest.approx(link.setup, abs=0.005)


def test_a_fit_without_setup_takes_the_times_that_were_measured() -> None:
    """Jitter makes the slope between similar sizes too steep: it must not slow the link down."""
    link = LinkEstimate(setup=0.0, pace=1e-6, delay=0.05)
    steep = [
        Transfer(1, size, size * 1e-6 + (size - 95_000) * 1e-6)
        for size in (90_000, 94_000, 96_000, 100_000)
    ]
    found = fit(steep, WRONG)
    assert found.setup == 0.0
    assert found.pace == pytest.approx(link.pace, rel=0.05)


@pytest.mark.parametrize("seed", range(40))
def test_no_fit_has_a_rate_above_the_links_own(seed: int) -> None:
    """Two sizes that jitter: the set-up must not take the time that a wrong rate leaves."""
    rng = Random(f"tests/link-fit/least/{seed}")
    link = LinkEstimate(setup=0.004, pace=8e-8, delay=0.004)
    sizes = [rng.randrange(1_200_000, 1_700_000), rng.randrange(400_000, 1_000_000)]
    found = [
        t._replace(seconds=t.seconds + rng.expovariate(1 / 0.004))
        for t in transfers(1, *sizes * 4, link=link)
    ]
    # the smaller pieces come late: the line through both is too flat
    late = [t._replace(seconds=t.seconds + 0.02 * (t.size < 1_100_000)) for t in found]
    for times in (found, late):
        estimate = link_fit.fit(np.array(times, np.float64), link, link.pace)
        assert estimate.pace * link_fit.FASTER >= link.pace
        assert estimate.setup <= 2.5 * link.setup
    assert fit(late, link).setup > 4 * link.setup
    estimate = link_fit.fit(np.array(late, np.float64), link, link.pace)
    assert estimate.setup == link.setup


def test_a_set_up_that_was_wrong_gives_way_to_the_links_own_rate() -> None:
    """With one size the set-up of before stays, but for a rate that the link does not have."""
    before = LinkEstimate(setup=0.05, pace=1e-6)
    estimate = link_fit.fit(np.array(transfers(1, *[90_000] * 3)), before, LINK.pace)
    assert (estimate.setup, estimate.pace) == pytest.approx((LINK.setup, LINK.pace))


def test_a_known_rate_leaves_a_slower_link_and_exact_times_alone() -> None:
    approximates(link_fit.fit(np.array(transfers(1, 1000, 50_000)), WRONG, LINK.pace), LINK)
    slower = msgspec.structs.replace(LINK, pace=3e-6)
    exact = np.array(transfers(1, 1000, 50_000, link=slower))
    approximates(link_fit.fit(exact, WRONG, LINK.pace), slower)


def test_no_transfer_changes_nothing() -> None:
    assert fit([], LINK) == LINK


def test_a_time_below_the_setup_makes_the_whole_link_faster() -> None:
    before = LinkEstimate(setup=0.01, pace=1e-6)
    found = fit([Transfer(1, 10_000, 0.005)], before)
    assert (found.setup, found.pace) == pytest.approx((0.0025, 2.5e-7))


@pytest.mark.parametrize("seconds", [0.0, -1.0])
@pytest.mark.parametrize("sizes", [(10,), (10, 1000), (0,), (0, 0)])
def test_nonsense_gives_a_link_of_numbers(seconds: float, sizes: tuple[int, ...]) -> None:
    for before in (LINK, LinkEstimate()):
        found = fit([Transfer(1, size, seconds) for size in sizes], before)
        assert found.setup >= 0 <= found.pace


def test_larger_messages_that_come_sooner_have_no_negative_pace() -> None:
    before = msgspec.structs.replace(WRONG, setup=10.0)
    found = fit([Transfer(1, 1000, 2.0), Transfer(1, 2000, 1.0)], before)
    assert (found.pace, found.setup) == (0.0, 1.5)


def test_a_path_is_as_slow_as_its_slowest_side() -> None:
    mine = Side(rate=Rate(8e6), delay=Seconds(0.03), setup=Seconds(0.002))
    servers = Side(rate=Rate(1e9), delay=Seconds(0.01))
    path = through(mine, servers)
    approximates(path, LinkEstimate(0.002, FRAME * 1e-6, path.delay))
    assert path.delay == pytest.approx(0.04)
    assert {*map(type, msgspec.structs.astuple(path))} == {float}  # JSON knows no quantities
    assert path.rate == pytest.approx(8e6)
    assert through(Side(), Side()) == LinkEstimate()
    assert through().rate is None


def test_the_least_pace_is_that_of_the_slowest_side_whose_rate_stays() -> None:
    mine, servers = Side(rate=Rate(8e6)), Side(rate=Rate(1e9))
    changes = Side(rate=Rate(1e6), steps=(LinkStep(at=Seconds(5.0), rate=Rate(1e8)),))
    assert least_pace(mine, servers) == through(mine, servers).pace
    assert least_pace(changes, servers) == through(servers).pace
    assert least_pace(changes, Side()) == 0.0
