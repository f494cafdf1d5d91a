"""Is every address that the documentation links to a known one?

No test uses a network. So each address stands here with what is there, and a new or mistyped one is not in the list:
open it once in a browser, and add it.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md"), ROOT / "tests" / "README.md"]
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)

KNOWN = {
    "http://incompleteideas.net/book/the-book-2nd.html": "Sutton and Barto, Reinforcement Learning, second edition",
    "https://arxiv.org/abs/1506.02438": "Schulman and others, generalized advantage estimation",
    "https://arxiv.org/abs/1509.02971": "Lillicrap and others, DDPG",
    "https://arxiv.org/abs/1509.06461": "van Hasselt and others, double DQN",
    "https://arxiv.org/abs/1511.05952": "Schaul and others, prioritized experience replay",
    "https://arxiv.org/abs/1511.06581": "Wang and others, dueling networks",
    "https://arxiv.org/abs/1511.08779": "Tampuu and others, two agents with DQN",
    "https://arxiv.org/abs/1705.04862": "Clemente and others, PAAC",
    "https://arxiv.org/abs/1706.05296": "Sunehag and others, VDN",
    "https://arxiv.org/abs/1707.06347": "Schulman and others, PPO",
    "https://arxiv.org/abs/1710.02298": "Hessel and others, Rainbow",
    "https://arxiv.org/abs/1802.01561": "Espeholt and others, IMPALA",
    "https://arxiv.org/abs/1802.09477": "Fujimoto and others, TD3",
    "https://arxiv.org/abs/1803.11485": "Rashid and others, QMIX",
    "https://arxiv.org/abs/1812.05905": "Haarnoja and others, SAC with a tuned temperature",
    "https://arxiv.org/abs/1812.09755": "Singh and others, agents that learn when to communicate (IC3Net)",
    "https://arxiv.org/abs/1903.03176": "Young and Tian, MinAtar",
    "https://arxiv.org/abs/1912.00167": "Luo and others, IMPACT, on which APPO is based",
    "https://arxiv.org/abs/1912.09729": "Ye and others, mastering complex control in MOBA games: PPO clipped twice",
    "https://arxiv.org/abs/2011.09533": "de Witt and others, independent PPO in StarCraft",
    "https://arxiv.org/abs/2103.01955": "Yu and others, PPO for cooperating agents",
    "https://arxiv.org/abs/2103.11883": "Pan and others, overestimation in QMIX",
    "https://arxiv.org/abs/2110.01101": "Parallel Actors and Learners",
    "https://arxiv.org/abs/2110.05038": "Ni and others, recurrent baselines for partial observability",
    "https://arxiv.org/abs/2201.01221": "Lyu and others, critics that see the state",
    "https://arxiv.org/abs/2312.04704": "Kwok and others, parallel reinforcement learning with the reactor model",
    "https://arxiv.org/abs/2312.06126": "Spreeze",
    "https://doi.org/10.1038/nature14236": "Mnih and others, DQN",
    "https://github.com/Alfredvc/paac": "PAAC's code",
    "https://keepachangelog.com/en/1.1.0/": "the form of CHANGELOG.md",
    "https://openreview.net/forum?id=r1lyTjAqYX": "Kapturowski and others, recurrent replay (R2D2)",
    "https://semver.org/spec/v2.0.0.html": "what a version says",
}


def addresses() -> dict[str, str]:
    """Where the documentation leads to elsewhere, and the page that does."""
    found = {}
    for page in TEXTS:
        for address in re.findall(r"https?://[^\s)>\]]+", CODE.sub("", page.read_text())):
            found[address.rstrip(".,;:")] = page.name
    return found


def test_every_address_is_known_and_every_known_one_is_used() -> None:
    found = addresses()
    assert {address: page for address, page in found.items() if address not in KNOWN} == {}
    assert set(KNOWN) - set(found) == set()


def test_papers_are_linked_by_the_page_of_their_abstract() -> None:
    for address in KNOWN:
        if "arxiv" in address:
            assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", address), address
