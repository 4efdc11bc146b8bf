"""How fast a page uploads a file of a gibibyte, beside curl and one fetch of the browser: run it with the python of `.build/dashboard`.

`.build/dashboard/python/bin/python Tests/Dashboard/upload_rate.py` prints the medians of three rounds and their shares of curl's.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time

from stage import Stage

ROUNDS = 3
BYTES = int(os.environ.get("UPLOAD_BYTES", 1 << 30))
FETCH = """async ([path, csrf]) => {
  const [file] = document.querySelector('#measured').files
  const headers = { 'Upload-Offset': '0', 'Upload-Complete': '?1', 'Content-Type': 'application/octet-stream', 'X-Vicinity-CSRF': csrf }
  const start = performance.now()
  const answer = await fetch(path, { method: 'PATCH', body: file, headers })
  if (!answer.ok) throw new Error(await answer.text())
  return (performance.now() - start) / 1000
}"""
CLIENT = """async ([session, to, csrf]) => {
  const [file] = document.querySelector('#measured').files
  const { Vicinity } = await import('/vicinity.js')
  const gateway = new Vicinity(location.origin, { csrf })
  const start = performance.now()
  const resource = await (await gateway.session(session)).sendResource(file, { to, resume: false })
  while (resource.state === 'uploading') await new Promise((resolve) => setTimeout(resolve, 2))
  const time = (performance.now() - start) / 1000
  gateway.close()
  return [time, resource.id]
}"""


class UploadRate(Stage):
    def test_rate(self):
        ada, ben = self.enter(self.gateways[0], "Ada"), self.enter(self.gateways[1], "Ben")
        self.meet(ada, "Ada", ben, "Ben")
        csrf, session = ada.evaluate("(({ csrf, session }) => [csrf, session])(JSON.parse(localStorage.vicinity))")
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in ada.context.cookies())
        own = ["-sS", "--fail", "-H", f"Cookie: {cookies}", "-H", f"X-Vicinity-CSRF: {csrf}"]
        base = f"{self.gateways[0].url}/v1/sessions/{session}"

        def ask(*more):
            return subprocess.run(["curl", *own, *more], check=True, capture_output=True, text=True).stdout

        member = json.loads(ask(f"{base}/members"))["items"][0]["peer"]
        ada.evaluate("document.body.append(Object.assign(document.createElement('input'), { id: 'measured', type: 'file' }))")
        with tempfile.NamedTemporaryFile() as file:
            for _ in range(BYTES >> 20):
                file.write(os.urandom(1 << 20))
            file.flush()
            ada.locator("#measured").set_input_files(file.name)
            times = {"curl": [], "fetch": [], "client": []}

            def offer():
                offered = {"name": "measured", "to": member, "size": BYTES, "contentType": "application/octet-stream"}
                return json.loads(ask("-H", "Content-Type: application/json", "-d", json.dumps(offered), f"{base}/resources"))["id"]

            for _ in range(ROUNDS):
                one = offer()
                start = time.monotonic()
                ask("-X", "PATCH", "-H", "Expect:", "-H", "Upload-Offset: 0", "-H", "Upload-Complete: ?1",
                    "-H", "Content-Type: application/octet-stream", "-T", file.name, f"{base}/resources/{one}/content")
                times["curl"].append(time.monotonic() - start)
                ask("-X", "DELETE", f"{base}/resources/{one}")
                one = offer()
                times["fetch"].append(ada.evaluate(FETCH, [f"{base}/resources/{one}/content", csrf]))
                ask("-X", "DELETE", f"{base}/resources/{one}")
                taken, one = ada.evaluate(CLIENT, [session, member, csrf])
                times["client"].append(taken)
                ask("-X", "DELETE", f"{base}/resources/{one}")
        rates = {name: BYTES / statistics.median(all_of) / 1e6 for name, all_of in times.items()}
        for name, rate in rates.items():
            print(f"{name}: {rate:.0f} MB/s, {rate / rates['curl']:.2f} of curl's")


if __name__ == "__main__":
    import unittest
    unittest.main()
