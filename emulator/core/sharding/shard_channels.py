"""Both ends of the connection between the shard that leads and one that follows, without sockets.

A process at either end may die and come back from its disk. Therefore orders and news have numbers,
which ascend by one from 1; a result has the number of its order. Each end keeps what it has said
until the other end has it on its disk, and says it again when the other end has come back. An end
ignores what it has had before. So each order is done once, and each report is taken once.

A leader that begins, or comes back, asks each follower for a `Presence`, and takes no report
before: older reports may still be under way. A follower that begins says its presence unasked.
"""

from collections import deque
from typing import Any, TypeAlias

import msgspec

from ...errors import EmulatorError
from ...plugins.stateful import Stateful
from .shard_orders import DropParts, KeepParts, News, Order, Report, Result


class NumberedOrder(msgspec.Struct, frozen=True, tag="order"):
    """An order, with the numbers of the last news and of the last result that the leader has on its
    disk."""

    number: int
    order: Order
    news: int
    results: int


class LooseOrder(msgspec.Struct, frozen=True, tag="loose"):
    """An order without a number: to do it twice, or never, changes no result."""

    order: DropParts | KeepParts


class AskPresence(msgspec.Struct, frozen=True, tag="ask"):
    """The leader of `life` asks for the follower's presence."""

    life: int


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    """The numbers of the first order that the leader keeps, and of the last news and the last
    result that have come. Orders from the first on follow."""

    first: int
    news: int
    results: int


class Presence(msgspec.Struct, frozen=True, tag="present"):
    """The numbers of the last order that the follower has on its disk, and of its last news."""

    life: int | None
    """The life of the leader that asked; None: the follower has begun."""
    orders: int
    news: int


class NumberedNews(msgspec.Struct, frozen=True, tag="news"):
    """News of a follower."""

    number: int
    news: News


class NumberedResult(msgspec.Struct, frozen=True, tag="result"):
    """The result of the order `number`."""

    number: int
    result: Result


Told: TypeAlias = NumberedOrder | LooseOrder | AskPresence | Welcome
"""Messages to a follower."""
Heard: TypeAlias = Presence | NumberedNews | NumberedResult
"""Messages to the leader."""

encode = msgspec.msgpack.Encoder().encode
_told: Any = msgspec.msgpack.Decoder(Told)
_heard: Any = msgspec.msgpack.Decoder(Heard)
_news: Any = msgspec.msgpack.Decoder(News)
_reports: Any = msgspec.msgpack.Decoder(NumberedNews | NumberedResult)


def decode_told(data: bytes) -> Told:
    """Return the message to a follower in `data`."""
    told: Told = _told.decode(data)
    return told


def decode_numbered(data: bytes) -> NumberedNews | NumberedResult:
    """Return the numbered report in `data`. Raises ValueError for other bytes."""
    report: NumberedNews | NumberedResult = _reports.decode(data)
    return report


def decode_news(data: bytes) -> News:
    """Return the news in `data`, without a number."""
    news: News = _news.decode(data)
    return news


class LostByDisk(EmulatorError):
    """A disk has lost messages that the other shard has on its own: no shard can go on."""


class LeaderChannel(Stateful):
    """The leader's end of the connection with the follower `shard`.

    A report has come once `hear` returns it, and is taken once it is on the leader's disk.
    """

    STATE = ("_sent", "_kept", "_news", "_results")

    def __init__(self, shard: int, life: int = 0) -> None:
        """`life` is a number that no earlier process of the leader had."""
        self._shard, self._life = shard, life
        self._sent = 0  # number of the last order
        self._kept: deque[tuple[int, bytes]] = deque()  # orders that may not be on the disk there
        self._news = self._results = 0  # numbers of the last that were taken
        self._news_come = self._results_come = 0
        self._ahead = 0  # number of the last order that the follower has
        self._settled = False
        self.present = False
        """Whether the follower has said its presence to this life of the leader."""
        self.returned = False
        """Whether the follower has said its presence since this was set to False last."""

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._news_come, self._results_come = self._news, self._results

    def tell(self, order: Order) -> bytes:
        """Return the message with `order`. It need not leave unless the follower is `present`."""
        if isinstance(order, DropParts | KeepParts):
            return encode(LooseOrder(order))
        self._sent += 1
        self._kept.append((self._sent, encode(order)))
        return self._numbered(self._sent, order)

    def _numbered(self, number: int, order: Order | msgspec.Raw) -> bytes:
        return encode(NumberedOrder(number, order, self._news, self._results))  # type: ignore[arg-type]

    def ask(self) -> bytes:
        """Return the question for the follower's presence."""
        return encode(AskPresence(self._life))

    def hear(self, data: bytes) -> tuple[list[bytes], NumberedNews | NumberedResult | None]:
        """Take a message of the follower; return what to say to it, and the report that has come.

        Raises LostByDisk if either disk lacks messages that the other shard has.
        """
        heard: Heard = _heard.decode(data)
        match heard:
            case Presence():
                if heard.life != self._life and not self.present:
                    return [self.ask()], None
                return self._welcome(heard), None
            case NumberedNews(number) if self.present and number > self._news_come:
                assert number == self._news_come + 1
                self._news_come = number
                return [], heard
            case NumberedResult(number) if self.present and number > self._results_come:
                self._results_come = number
                return [], heard
        return [], None

    def _welcome(self, presence: Presence) -> list[bytes]:
        """Return the messages for a follower that has begun, or come back."""
        self._ahead = presence.orders
        if self._results_come > presence.orders or self._news_come > presence.news:
            had = f"order {self._results_come} and report {self._news_come}"
            raise LostByDisk(
                f"the disk has lost inputs of shard {self._shard + 1}: it knows orders up to "
                f"{presence.orders} and reports up to {presence.news}, and had {had}"
            )
        if self._settled:
            self.settle()
        self.present = self.returned = True
        first = self._kept[0][0] if self._kept else self._sent + 1
        return [
            encode(Welcome(first, self._news_come, self._results_come)),
            *(
                self._numbered(number, msgspec.Raw(order))
                for number, order in self._kept
                if number > presence.orders
            ),
        ]

    def settle(self) -> None:
        """Take that the leader has made all orders of its earlier lives again.

        Before, it may wait for a result of an order behind which a life of it made more: this life
        died as it came back. Raises LostByDisk if the follower knows orders that were not made.
        """
        self._settled = True
        if self._ahead > self._sent:
            raise LostByDisk(
                f"the disk has lost inputs of the leader: it knows orders up to {self._sent}, and "
                f"shard {self._shard + 1} has done them up to {self._ahead}"
            )

    def took(self, report: NumberedNews | NumberedResult) -> None:
        """Take that `report` is on the leader's disk."""
        if isinstance(report, NumberedNews):
            self._news = report.number
        else:
            self._results = report.number
            # the follower had these on its disk before it said their last result
            while self._kept and self._kept[0][0] <= report.number:
                self._kept.popleft()

    def replayed(self, report: NumberedNews | NumberedResult) -> None:
        """Take a `report` that the leader has on its disk from an earlier life."""
        self.took(report)
        self._news_come, self._results_come = self._news, self._results


class FollowerChannel(Stateful):
    """The follower's end of its connection with the leader."""

    STATE = ("_orders", "_news", "_news_kept", "_results_kept")

    def __init__(self) -> None:
        self._orders = self._news = 0  # numbers of the last
        # what may not be on the leader's disk
        self._news_kept: deque[tuple[int, bytes]] = deque()
        self._results_kept: deque[tuple[int, bytes]] = deque()
        # before the welcome, a report would come before those that the leader lacks, and an order
        # may come before those that are lacking here
        self._welcomed = False

    def presence(self, life: int | None = None) -> bytes:
        """Return the message that the follower is there, to the leader of `life` if it asked."""
        return encode(Presence(life, self._orders, self._news))

    def report(self, report: Report) -> list[bytes]:
        """Return the message with `report`: news, or the result of the order taken last. Return
        none before the leader's welcome: it is said then."""
        if isinstance(report, Result):
            kept, number = self._results_kept, self._orders
            data = encode(NumberedResult(number, report))
        else:
            self._news += 1
            kept, number = self._news_kept, self._news
            data = encode(NumberedNews(number, report))
        kept.append((number, data))
        return [data] if self._welcomed else []

    def answers(self, told: Told) -> list[bytes]:
        """Return what to say to a message that is no order: the presence, or what the leader
        lacks. Raises LostByDisk if orders are missing that the leader does not have any more."""
        match told:
            case AskPresence(life):
                self._welcomed = False
                return [self.presence(life)]
            case Welcome(first, news, results):
                if first > self._orders + 1:
                    raise LostByDisk(
                        f"a disk has lost the orders {self._orders + 1} to {first - 1}"
                    )
                self._welcomed = True
                kept = (self._news_kept, news), (self._results_kept, results)
                return [data for own, last in kept for number, data in own if number > last]
        return []

    def is_new(self, told: Told) -> bool:
        """Return whether `told` is an order that was not taken before. Before the leader's welcome
        none is: earlier ones may be lost, and all are said again."""
        if isinstance(told, NumberedOrder):
            assert not self._welcomed or told.number <= self._orders + 1
            return self._welcomed and told.number > self._orders
        return isinstance(told, LooseOrder)

    def take(self, told: Told) -> Order:
        """Take that the new order `told` is on the disk here; return the order."""
        assert isinstance(told, NumberedOrder | LooseOrder)
        if isinstance(told, NumberedOrder):
            self._orders = told.number
            for kept, last in ((self._news_kept, told.news), (self._results_kept, told.results)):
                while kept and kept[0][0] <= last:
                    kept.popleft()
        return told.order
