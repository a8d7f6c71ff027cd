"""The engines: how each is started, and how its workflows are called."""

from . import dbos, restate, temporal
from .engine import Peer

#: Every peer by the name that `--only` takes.
PEERS: dict[str, Peer] = {
    "restate": Peer(restate.prepare),
    "restate-one-partition": Peer(restate.prepare_one_partition),
    "dbos": Peer(dbos.prepare),
    "dbos-postgres": Peer(dbos.prepare_postgres),
    "temporal": Peer(temporal.prepare),
}
