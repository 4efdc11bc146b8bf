import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import vicinity

/// Requests that wait in a socket which outlives the gateway, as systemd's does, are answered by the one that comes.
@Suite(.ownThread, .timeLimit(.minutes(5)), .serialized) struct ActivationTests {
  /// Holds the socket as systemd would, starts gateways with it, one after another, and sends requests all the while.
  /// It prints how many requests were answered and the failures of the others.
  private static let rig = """
    import json, os, signal, socket, subprocess, sys, threading
    folder, starts, program = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    place, lost, answered = listener.getsockname(), [], [0]
    os.dup2(listener.fileno(), 100, inheritable=True)

    def start():
        line = 'exec 3<&100 100<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
        return subprocess.Popen(["bash", "-c", line, "bash", *program], pass_fds=[100], stdout=subprocess.PIPE, text=True)

    def begin():
        client = socket.create_connection(place, 60)
        client.sendall(b"GET /v1/gateway HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
        return client

    def end(client):
        said = b""
        try:
            while more := client.recv(65536):
                said += more
        except OSError as error:
            said = repr(error).encode()
        client.close()
        if said.startswith(b"HTTP/1.1 200 "):
            answered[0] += 1
        else:
            lost.append(said[:80].decode())

    def ask():
        while not over.is_set():
            end(begin())

    def serve():
        gateway = start()
        for line in gateway.stdout:
            if json.loads(line)["event"] == "serving":
                return gateway

    def stop(gateway):
        gateway.send_signal(signal.SIGTERM)
        gateway.stdout.read()
        return gateway.wait()

    over, waiting = threading.Event(), []
    for _ in range(3):
        waiting += [begin() for _ in range(3)]
        gateway = serve()
        for client in waiting:
            end(client)
        waiting = []
        assert stop(gateway) == 0
    queued = answered[0]
    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    gateway = serve()
    for _ in range(starts):
        seen = answered[0] + len(lost)
        while answered[0] + len(lost) < seen + 5:
            over.wait(0.001)
        assert stop(gateway) == 0
        gateway = serve()
    over.set()
    for client in clients:
        client.join()
    stop(gateway)
    print(json.dumps({"queued": queued, "answered": answered[0], "lost": lost}))
    """

  @Test("Nine requests that waited for a start are answered, and of those over twenty restarts none is lost")
  func restarts() throws {
    let folder = TemporaryFolder()
    let program = try Program(
      [
        "serve", "--json", "--keys", folder.path + "/keys", "--folder", folder.path + "/gateway", "--discovery",
        "none",
      ], .noInput, in: folder.path, through: ["python3", "-c", Self.rig, folder.path, "20"])
    #expect(try program.ended(within: 240) == 0, "\(program.err)")
    let told = try JSON(parsing: program.out)
    #expect(told["queued"] == 9 && told["lost"] == [], "\(program.out)")
  }
}
