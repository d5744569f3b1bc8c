"""The rungs of the reuse ladder, as simulator/mem/rungs.def has them."""

import re
from dataclasses import dataclass

from .runs import ROOT

TABLE = "simulator/mem/rungs.def"
# A macro's arguments: words, and texts of one piece or several.
ARGUMENT = re.compile(r'(?:"[^"]*"\s*)+|\w+')


@dataclass
class Rung:
    """`policy` is the attribute's name without "cudaMemPool"; empty: the rung is always on."""

    name: str
    policy: str
    when: str
    cost: str
    because: str


def rungs():
    text = re.sub(r"/\*.*?\*/", "", (ROOT / TABLE).read_text(), flags=re.S)
    for condition, arguments in re.findall(r"^RUNG(_IF)?\((.*?)\)$", text, re.M | re.S):
        _, *words = ARGUMENT.findall(arguments)
        words = ["".join(re.findall(r'"([^"]*)"', word)) or word for word in words]
        if not condition:
            words.insert(1, "")
        yield Rung(*words)


RUNGS = list(rungs())
