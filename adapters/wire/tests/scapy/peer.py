"""The other end of associations, by scapy: opens the packets of standard input, and seals some for it.

A line of JSON for each association in, one out: what the packets held, and packets that hold the same.
"""
import json
import sys
import warnings

warnings.filterwarnings("ignore")
from scapy.layers.inet import IP  # noqa: E402
from scapy.layers.ipsec import ESP, SecurityAssociation  # noqa: E402
from scapy.packet import raw  # noqa: E402

OUTER = {"src": "10.77.0.1", "dst": "10.77.0.2"}

for line in sys.stdin:
    case = json.loads(line)
    association = SecurityAssociation(
        ESP,
        spi=case["spi"],
        crypt_algo=case["crypt"],
        crypt_key=bytes.fromhex(case["key"]),
        auth_algo=case["auth"],
        auth_key=bytes.fromhex(case["auth_key"]),
        esn_en=case["extended"],
        tunnel_header=IP(**OUTER),
    )
    inner, theirs = [], []
    for packet in case["packets"]:
        outer = IP(raw(IP(**OUTER, proto=50) / bytes.fromhex(packet)))
        opened = association.decrypt(outer, verify=True)
        inner.append(raw(opened).hex())
        theirs.append(raw(association.encrypt(opened)[ESP]).hex())
    print(json.dumps({"inner": inner, "theirs": theirs}), flush=True)
