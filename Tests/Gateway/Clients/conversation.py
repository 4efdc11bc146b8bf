"""A program that uses the client that openapi-python-client generates.

It is in an ad hoc session with whoever chats under a service type, says something, waits for an answer, and exchanges files.
"""

import io
import sys

import httpx
from vicinity_gateway_client import AuthenticatedClient, Client
from vicinity_gateway_client.api.messages import list_messages, send_message
from vicinity_gateway_client.api.pairing import create_pairing
from vicinity_gateway_client.api.peers import create_peer
from vicinity_gateway_client.api.resources import create_resource, download_resource, list_resources, upload_resource
from vicinity_gateway_client.api.sessions import create_session, list_members
from vicinity_gateway_client.models import (
    MemberState, PairingRequest, PeerRequest, Problem, ResourceRequest, ResourceState, SessionRequest,
    SessionRequestResources)
from vicinity_gateway_client.types import File

# Longer than a request may wait for changes.
TIMEOUT = httpx.Timeout(40)
WAIT_SECONDS = 30


def told(answer):
    if isinstance(answer, Problem):
        raise RuntimeError(answer.detail)
    return answer


def follow(list_items, is_wanted):
    """The first item that is wanted: from the list as it is, and from then on from its changes."""
    page = told(list_items())
    while True:
        items = page.items or [change.put for change in page.changes or [] if change.put]
        for item in items:
            if is_wanted(item):
                return item
        page = told(list_items(since=page.position, wait=WAIT_SECONDS))


def main(url, code, service_type, upload, download):
    pairing = told(create_pairing.sync(client=Client(url), body=PairingRequest(code=code, name="generated")))
    client = AuthenticatedClient(url, token=pairing.token, timeout=TIMEOUT)
    peer = told(create_peer.sync(client=client, body=PeerRequest(display_name="Python")))
    print(f"paired as {pairing.role.value}, and made the peer {peer.id}", flush=True)

    request = SessionRequest(peer=peer.id, adhoc=service_type, resources=SessionRequestResources.ACCEPT)
    session = told(create_session.sync(client=client, body=request)).id

    def list_of(module):
        return lambda **options: module.sync(session, client=client, **options)

    other = follow(list_of(list_members), lambda member: member.state == MemberState.CONNECTED)
    print(f"met {other.display_name}", flush=True)

    message = told(send_message.sync(session, client=client, body=File(io.BytesIO("Grüße from Python".encode()))))
    follow(list_of(list_messages), lambda item: item.id == message.id and item.delivery.delivered == 1)
    print(f"sent a message, {message.body}", flush=True)
    answer = follow(list_of(list_messages), lambda item: item.from_ == other.peer)
    bodies = [item.body for item in told(list_messages.sync(session, client=client)).items]
    print(f"was told {answer.body}; the list of messages is {bodies}", flush=True)

    with open(upload, "rb") as file:
        content = file.read()
    request = ResourceRequest(name="upload.bin", to=other.peer, size=len(content))
    sent = told(create_resource.sync(session, client=client, body=request))
    told(upload_resource.sync(session, sent.id, client=client, body=File(io.BytesIO(content))))
    follow(list_of(list_resources), lambda item: item.id == sent.id and item.state == ResourceState.COMPLETE)
    print(f"uploaded {len(content)} bytes, which have arrived", flush=True)

    come = follow(list_of(list_resources), lambda item: item.from_ == other.peer and item.state == ResourceState.COMPLETE)
    content = told(download_resource.sync(session, come.id, client=client)).payload.read()
    with open(download, "wb") as file:
        file.write(content)
    print(f"downloaded {len(content)} bytes, {come.name}", flush=True)


main(*sys.argv[1:])
