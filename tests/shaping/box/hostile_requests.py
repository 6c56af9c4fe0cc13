"""Requests that the box refuses, each with the reason."""

import json

from emulator.shaping.box.link_request import LARGEST_REQUEST


def attach(**keys: object) -> bytes:
    plain = {"do": "attach", "name": "a", "link": {"up": {}, "down": {}}, **keys}
    return json.dumps(plain).encode()


def attach_up(**keys: object) -> bytes:
    return attach(link={"up": keys, "down": {}})


HOSTILE = {
    b"": "not JSON",
    b"\xff\xfe": "not JSON",
    b"[" * LARGEST_REQUEST: "not JSON",
    b"9" * LARGEST_REQUEST: "not JSON",
    b"[]": "not a JSON object",
    b"{}": "do: None",
    attach(do="drop"): "do: 'drop' is not attach or change or report or detach",
    attach(do=["attach"]): "do: ",
    attach(extra=1): "attach has no key 'extra'",
    attach(do="report"): "report has no key 'link'",
    attach(name=""): "name: ''",
    attach(name=7): "name: 7",
    attach(name="a" * 129): "name: ",
    attach(name="a\nb"): "name: ",
    attach(rates=1): "rates: 1",
    attach(dilation="4"): "dilation: '4' is not a number",
    attach(dilation=0.5): "dilation: 0.5 is not from 1 to 1000",
    attach(dilation=float("nan")): "dilation: nan",
    attach(link=None): "link: ",
    attach(link={"up": {}}): "link: ",
    attach(link={"up": {}, "down": 3}): "link.down: ",
    attach_up(rate=0.5): "link.up: ",
    attach_up(rate=1e12): "link.up: ",
    attach_up(rate="fast"): "link.up: ",
    attach_up(rate=[]): "link.up: ",
    attach_up(speed=1e6): "link.up: ",
    attach_up(delay=-1): "link.up: ",
    attach_up(delay=1e9): "link.up: ",
    attach_up(delay=0.01, jitter=0.02): "link.up: ",
    attach_up(loss=1.5): "link.up: ",
    attach_up(setup=1e9): "link.up: ",
    attach_up(delay=1, jitter=1, distribution="wide"): "link.up: ",
    attach_up(delay=1, jitter=1, distribution={}): "link.up: ",
    attach_up(delay=1, jitter=1, correlation=2): "link.up: ",
    attach_up(duplicate=-0.1): "link.up: ",
    attach_up(delay=1, reorder=0.1, gap=0): "link.up: ",
    attach_up(delay=1, reorder=0.1, gap=1e300): "link.up: ",
    attach_up(limit=-1): "link.up: ",
    attach_up(rate=1e6, overhead=-2000): "link.up: ",
    attach_up(steps=[{"at": 1, "rate": 1e6}]): "link.up: ",
    attach_up(trace={"samples": "0 1e6, end 1", "loop": True, "scale": 1, "start": 0}): "link.up: ",
    attach_up(loss_model={}): "link.up: ",
    attach_up(loss_model={"gemodel": {"p": 2}}): "link.up: ",
    attach_up(loss_model={"gemodel": {"p": 0.1, "r": -0.1}}): "link.up: ",
    attach_up(loss_model={"gemodel": {"p": 0.1, "1-h": 7}}): "link.up: ",
    attach_up(loss_model={"state": {"p13": 0.7, "p14": 0.7}}): "link.up: ",
    attach_up(loss_model={"state": {"p13": []}}): "link.up: ",
    attach_up(loss_model={"markov": {"p13": 1}}): "link.up: ",
    b'{"do": "attach", "name": "a", "link": {"up": {"delay": NaN}, "down": {}}}': "link.up: ",
    b'{"do": "attach", "name": "a", "link": {"up": {"rate": 1e999}, "down": {}}}': "link.up: ",
}
